// SPDX-License-Identifier: Apache-2.0
#include "stipple/evaluate/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stipple/backend/render.h"
#include "stipple/image/ssim.h"

namespace stipple {
namespace {

Camera test_camera() {
  Camera camera;
  camera.camera_from_world.translation = {0, 0, 2};
  camera.focal_px = {20, 20};
  camera.center_px = {12, 8};
  camera.width_px = 24;
  camera.height_px = 16;
  return camera;
}

Gaussians test_gaussians() {
  Gaussians g = make_gaussians(1, 0);
  g.mean[0] = {0, 0, 0};
  g.log_scale[0] = {-1, -1, -1};
  g.rotation[0] = {1, 0, 0, 0};
  g.logit_opacity[0] = 2;
  g.sh[0] = {1, 0, -1};
  return g;
}

Photo photo_of(const Image& image) {
  Photo photo{image.width_px, image.height_px, {}, {}};
  for (const float v : image.values)
    photo.rgb.push_back(static_cast<std::uint8_t>(std::lround(clamp(v, 0.0f, 1.0f) * 255)));
  return photo;
}

Photo plain_photo(std::uint8_t value) { return {24, 16, std::vector<std::uint8_t>(24 * 16 * 3, value), {}}; }

constexpr Vec3f kBlack{0, 0, 0};

TEST(Evaluate, ScoresThePhotoScaledToOne) {
  Image half(24, 16, 3);
  std::fill(half.values.begin(), half.values.end(), 0.5f);
  const ViewScore s = score("a", half, plain_photo(255), kBlack);
  EXPECT_EQ(s.name, "a");
  EXPECT_NEAR(s.psnr, -10 * std::log10(0.25), 1e-9);
  EXPECT_NEAR(s.ssim, (2 * 0.5 + 1e-4) / (0.25 + 1 + 1e-4), 1e-9);
}

TEST(Evaluate, MaskedPixelsDoNotCount) {
  const Image black(24, 16, 3);
  Photo photo = plain_photo(0);
  photo.rgb[0] = 255;
  EXPECT_LT(score("", black, photo, kBlack).psnr, 40);
  photo.weight.assign(photo.pixel_count(), 255);
  photo.weight[0] = 0;
  EXPECT_TRUE(std::isinf(score("", black, photo, kBlack).psnr));
}

TEST(Evaluate, ACutOutIsShownInFrontOfTheBackground) {
  Photo photo = plain_photo(51);
  photo.alpha.assign(photo.pixel_count(), 102);
  const Image shown = image_of(photo, {1, 0.5f, 0});
  EXPECT_FLOAT_EQ(shown.values[0], 0.2f + 0.6f);
  EXPECT_FLOAT_EQ(shown.values[1], 0.2f + 0.3f);
  EXPECT_FLOAT_EQ(shown.values[2], 0.2f);
  EXPECT_TRUE(std::isinf(score("", shown, photo, {1, 0.5f, 0}).psnr));
  EXPECT_LT(score("", shown, photo, kBlack).psnr, 10);
}

class EvaluateViews : public testing::Test {
 protected:
  // The photos: the render itself, a black one, and a black one that is fully masked.
  Photo load(const SceneView& view) const {
    if (view.name == "itself") return itself_;
    Photo photo = plain_photo(0);
    if (view.name == "masked") photo.weight.assign(photo.pixel_count(), 0);
    return photo;
  }

  Evaluation run(std::vector<std::size_t> which) {
    for (const char* name : {"itself", "black", "masked"}) {
      SceneView view;
      view.name = name;
      view.camera = test_camera();
      views_.push_back(view);
    }
    PhotoCache photos(views_, 1 << 20, [&](const SceneView& view) { return load(view); });
    return evaluate(*backend_, upload(*backend_, test_gaussians()), views_, which, photos, options_,
                    [&](std::size_t done) { done_.push_back(done); });
  }

  std::unique_ptr<Backend> backend_ = make_backend("cpu");
  RenderOptions options_{.background = {0.2f, 0.2f, 0.2f}};
  Photo itself_ = photo_of(render(*backend_, test_gaussians(), {test_camera(), options_}).color);
  std::vector<SceneView> views_;
  std::vector<std::size_t> done_;
};

TEST_F(EvaluateViews, MeansAreOverTheRequestedViews) {
  const Evaluation e = run({1, 0});
  ASSERT_EQ(e.views.size(), 2u);
  EXPECT_EQ(e.views[0].name, "black");
  EXPECT_EQ(e.views[1].name, "itself");
  EXPECT_GT(e.views[1].psnr, 50) << "they differ only by the rounding of the photo";
  EXPECT_LT(e.views[0].psnr, 20);
  EXPECT_DOUBLE_EQ(e.psnr, (e.views[0].psnr + e.views[1].psnr) / 2);
  EXPECT_DOUBLE_EQ(e.ssim, (e.views[0].ssim + e.views[1].ssim) / 2);
  EXPECT_EQ(done_, (std::vector<std::size_t>{1, 2}));
}

TEST_F(EvaluateViews, FullyMaskedViewIsLeftOutOfTheMeans) {
  const Evaluation e = run({2, 0});
  EXPECT_TRUE(std::isnan(e.views[0].psnr));
  EXPECT_EQ(e.psnr, e.views[1].psnr);
  EXPECT_EQ(e.ssim, e.views[1].ssim);
}

TEST_F(EvaluateViews, MeansOfNoViewsAreNaN) {
  EXPECT_TRUE(std::isnan(run({}).psnr));
  EXPECT_TRUE(done_.empty());
}

}  // namespace
}  // namespace stipple
