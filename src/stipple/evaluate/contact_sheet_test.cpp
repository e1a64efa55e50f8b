// SPDX-License-Identifier: Apache-2.0
#include "stipple/evaluate/contact_sheet.h"

#include <gtest/gtest.h>

namespace stipple {
namespace {

Image plain(float value) {
  Image image(1, 1, 3);
  std::fill(image.values.begin(), image.values.end(), value);
  return image;
}

float brightness(const Image& image) { return image.values[0] + image.values[1] + image.values[2]; }

TEST(ErrorMap, IsBlackWhereEqualAndWhiteFromADifferenceOfAQuarter) {
  EXPECT_EQ(error_map(plain(0.3f), plain(0.3f)).values, plain(0).values);
  EXPECT_EQ(error_map(plain(1), plain(3)).values, plain(0).values) << "values are clamped";
  EXPECT_EQ(error_map(plain(0.5f), plain(0.25f)).values, plain(1).values);
  EXPECT_EQ(error_map(plain(0), plain(1)).values, plain(1).values);
}

TEST(ErrorMap, IsBrighterWhereTheErrorIsLarger) {
  for (float error = 0; error < 0.24f; error += 0.01f)
    EXPECT_LT(brightness(error_map(plain(0), plain(error))),
              brightness(error_map(plain(0), plain(error + 0.01f))));
}

TEST(ErrorMap, IsBlackWhereTheWeightIsZero) {
  const std::vector<std::uint8_t> none = {0};
  EXPECT_EQ(error_map(plain(0), plain(1), none).values, plain(0).values);
}

class ContactSheet : public testing::Test {
 protected:
  Image sheet(std::size_t count, int width_px, int height_px) {
    SceneView view;
    view.camera.focal_px = {20, 20};
    view.camera.width_px = width_px;
    view.camera.height_px = height_px;
    const std::vector<SceneView> views(count, view);
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < count; ++i) which.push_back(i);
    const auto load = [](const SceneView& v) {
      const int w = v.camera.width_px, h = v.camera.height_px;
      return Photo{w, h, std::vector<std::uint8_t>(static_cast<std::size_t>(w) * h * 3, 128), {}};
    };
    PhotoCache photos(views, 1 << 24, load);
    const DeviceGaussians none = upload(*backend_, make_gaussians(0, 0));
    const Evaluation evaluation = evaluate(*backend_, none, views, which, photos, {});
    return contact_sheet(*backend_, none, views, which, evaluation, photos, {});
  }

  std::unique_ptr<Backend> backend_ = make_backend("cpu");
};

TEST_F(ContactSheet, HasOneRowPerView) {
  const int head = sheet(0, 40, 30).height_px, row = sheet(1, 40, 30).height_px - head;
  EXPECT_GT(row, 240);
  EXPECT_EQ(sheet(3, 40, 30).height_px, head + 3 * row);
  EXPECT_EQ(sheet(12, 40, 30).height_px, head + 12 * row);
  EXPECT_EQ(sheet(30, 40, 30).height_px, head + 12 * row) << "at most twelve rows";
}

TEST_F(ContactSheet, ScalesImagesToTheSameSize) {
  EXPECT_EQ(sheet(1, 40, 30).width_px, sheet(1, 640, 480).width_px);
  EXPECT_LT(sheet(1, 30, 40).width_px, sheet(1, 40, 30).width_px) << "portrait images are narrower";
}

TEST_F(ContactSheet, ShowsRenderPhotoAndError) {
  const Image image = sheet(1, 40, 30);
  const int y = image.height_px / 2, third = image.width_px / 3;
  EXPECT_EQ(image.at(third / 2, y, 1), 0) << "the render is empty";
  EXPECT_EQ(image.at(third + third / 2, y, 1), 128.0f / 255);
  EXPECT_EQ(image.at(2 * third + third / 2, y, 1), 1) << "the error is large";
}

}  // namespace
}  // namespace stipple
