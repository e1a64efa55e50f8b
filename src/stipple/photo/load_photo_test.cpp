// SPDX-License-Identifier: Apache-2.0
#include "stipple/photo/load_photo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "stipple/core/parallel.h"
#include "stipple/image/area_scale.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/image/orientation.h"
#include "stipple/scene/scene.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_jpeg.h"

namespace stipple {
namespace {

// A view whose photo has one size and is trained on at another.
SceneView view_of(const std::filesystem::path& path, int width, int height, int to_width, int to_height) {
  SceneView view;
  view.name = path.filename().string();
  view.image_path = path;
  view.lens.width_px = width;
  view.lens.height_px = height;
  view.lens.focal_px = {100.0, 100.0};
  view.lens.center_px = {width / 2.0, height / 2.0};
  view.camera.width_px = to_width;
  view.camera.height_px = to_height;
  view.camera.focal_px = {100.0f * static_cast<float>(to_width) / static_cast<float>(width),
                          100.0f * static_cast<float>(to_height) / static_cast<float>(height)};
  view.camera.center_px = {static_cast<float>(to_width) / 2, static_cast<float>(to_height) / 2};
  return view;
}

ByteImage pixels(int width, int height, int channels, std::vector<std::uint8_t> values) {
  ByteImage image(width, height, channels);
  EXPECT_EQ(values.size(), image.values.size());
  image.values = std::move(values);
  return image;
}

// A view of a PNG with these pixels, at full resolution.
SceneView png_view(const TestFolder& folder, const ByteImage& image) {
  save_png(image, folder / "photo.png");
  return view_of(folder / "photo.png", image.width_px, image.height_px, image.width_px, image.height_px);
}

int largest_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  int largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(int{a[i]} - int{b[i]}));
  }
  return largest;
}

using Bytes = std::vector<std::uint8_t>;

TEST(LoadPhoto, KeepsPixelsAtFullResolution) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("a.jpg", waves(33, 21).encode());
  const Photo photo = load_photo(view_of(path, 33, 21, 33, 21));
  EXPECT_EQ(photo.width_px, 33);
  EXPECT_EQ(photo.height_px, 21);
  EXPECT_EQ(photo.rgb, load_byte_image(path).values);
  EXPECT_TRUE(photo.weight.empty());
}

TEST(LoadPhoto, ScalesAlikeForAllDecodingScalesAndOrientations) {
  TestFolder folder;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Jpeg jpeg = waves(405, 243);  // not a multiple of 2, 4 or 8
    jpeg.app1 = exif(orientation, false);
    const std::filesystem::path path = folder.write("a.jpg", jpeg.encode());
    const ByteImage full = load_byte_image(path);
    for (const int divisor : {1, 2, 3, 4, 6, 8}) {
      const int width = full.width_px / divisor, height = full.height_px / divisor;
      const Photo photo = load_photo(view_of(path, full.width_px, full.height_px, width, height));
      EXPECT_EQ(photo.width_px, width);
      EXPECT_EQ(photo.height_px, height);
      EXPECT_LE(largest_difference(photo.rgb, area_scaled(full, width, height).values), 8)
          << orientation << " " << divisor;
    }
  }
}

TEST(LoadPhoto, AcceptsFileOfAnotherSizeThanTheLens) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("a.jpg", waves(60, 40).encode());
  const Photo photo = load_photo(view_of(path, 240, 160, 30, 20));
  EXPECT_EQ(photo.rgb, load_photo(view_of(path, 60, 40, 30, 20)).rgb);
  EXPECT_EQ(load_photo(view_of(path, 240, 160, 61, 40)).width_px, 61);
}

TEST(LoadPhoto, RejectsPhotoWithAnotherAspectRatioThanItsCamera) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("a.jpg", waves(60, 40).encode());
  EXPECT_EQ(error_of([&] { load_photo(view_of(path, 40, 60, 40, 60)); }),
            path.string() +
                ": the photo has 60 x 40 pixels but its camera has 40 x 60; use the photos that the "
                "cameras were estimated from");
}

TEST(LoadPhoto, NamesMissingFile) {
  EXPECT_EQ(error_of([] { load_photo(view_of("no/a.jpg", 4, 4, 4, 4)); }),
            "cannot open no/a.jpg: No such file or directory");
}

TEST(LoadPhoto, ExpandsGreyToRgb) {
  TestFolder folder;
  EXPECT_EQ(load_photo(png_view(folder, pixels(2, 1, 1, {7, 200}))).rgb, (Bytes{7, 7, 7, 200, 200, 200}));
}

TEST(LoadPhoto, UsesAlphaAsWeight) {
  TestFolder folder;
  const Photo photo = load_photo(png_view(folder, pixels(2, 1, 4, {10, 20, 30, 0, 40, 50, 60, 128})));
  EXPECT_EQ(photo.rgb, (Bytes{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(photo.weight, (Bytes{0, 128}));
  const Photo grey = load_photo(png_view(folder, pixels(2, 1, 2, {10, 255, 40, 3})));
  EXPECT_EQ(grey.rgb, (Bytes{10, 10, 10, 40, 40, 40}));
  EXPECT_EQ(grey.weight, (Bytes{255, 3}));
  const Photo opaque = load_photo(png_view(folder, pixels(2, 1, 4, {10, 20, 30, 255, 40, 50, 60, 255})));
  EXPECT_EQ(opaque.rgb, (Bytes{10, 20, 30, 40, 50, 60}));
  EXPECT_TRUE(opaque.weight.empty());
}

TEST(LoadPhoto, CompositesAlphaOverBackground) {
  TestFolder folder;
  SceneView view = png_view(folder, pixels(3, 1, 4, {10, 20, 30, 0, 40, 50, 60, 128, 70, 80, 90, 255}));
  view.alpha = AlphaUse::kWhite;
  EXPECT_EQ(load_photo(view).rgb, (Bytes{255, 255, 255, 147, 152, 157, 70, 80, 90}));
  EXPECT_TRUE(load_photo(view).weight.empty());
  view.alpha = AlphaUse::kBlack;
  EXPECT_EQ(load_photo(view).rgb, (Bytes{0, 0, 0, 20, 25, 30, 70, 80, 90}));
  view = png_view(folder, pixels(1, 1, 2, {100, 51}));
  view.alpha = AlphaUse::kWhite;
  EXPECT_EQ(load_photo(view).rgb, (Bytes{224, 224, 224}));
}

TEST(LoadPhoto, AnObjectKeepsItsAlphaAndItsColoursAreMultipliedByIt) {
  TestFolder folder;
  SceneView view = png_view(folder, pixels(3, 1, 4, {10, 20, 30, 0, 40, 50, 60, 128, 70, 80, 90, 255}));
  view.alpha = AlphaUse::kObject;
  const Photo photo = load_photo(view);
  EXPECT_EQ(photo.rgb, (Bytes{0, 0, 0, 20, 25, 30, 70, 80, 90}));
  EXPECT_EQ(photo.alpha, (Bytes{0, 128, 255}));
  EXPECT_TRUE(photo.weight.empty());
  EXPECT_EQ(photo.size_bytes(), 12u);
  view = png_view(folder, pixels(1, 1, 2, {100, 51}));
  view.alpha = AlphaUse::kObject;
  EXPECT_EQ(load_photo(view).rgb, (Bytes{20, 20, 20}));
  EXPECT_EQ(load_photo(view).alpha, (Bytes{51}));
}

TEST(LoadPhoto, AnOpaquePhotoOfAnObjectHasNoAlpha) {
  TestFolder folder;
  for (const ByteImage& image : {pixels(1, 1, 4, {10, 20, 30, 255}), pixels(1, 1, 3, {10, 20, 30})}) {
    SceneView view = png_view(folder, image);
    view.alpha = AlphaUse::kObject;
    EXPECT_EQ(load_photo(view).rgb, (Bytes{10, 20, 30}));
    EXPECT_TRUE(load_photo(view).alpha.empty());
  }
}

TEST(LoadPhoto, TransparentColoursDoNotBleedIntoAnObject) {
  TestFolder folder;
  SceneView view =
      png_view(folder, pixels(2, 2, 4, {255, 0, 0, 0, 0, 100, 0, 255, 255, 0, 0, 0, 0, 100, 0, 255}));
  view.camera.width_px = view.camera.height_px = 1;
  view.alpha = AlphaUse::kObject;
  EXPECT_EQ(load_photo(view).rgb, (Bytes{0, 50, 0}));
  EXPECT_EQ(load_photo(view).alpha, (Bytes{128}));
}

TEST(LoadPhoto, TheMaskOfAnObjectIsItsWeight) {
  TestFolder folder;
  SceneView view =
      png_view(folder, pixels(2, 2, 4, {100, 0, 0, 51, 9, 9, 9, 255, 100, 0, 0, 51, 9, 9, 9, 255}));
  view.alpha = AlphaUse::kObject;
  view.mask_path = folder / "mask.png";
  save_png(pixels(1, 1, 1, {64}), view.mask_path);
  EXPECT_EQ(load_photo(view).alpha, (Bytes{51, 255, 51, 255}));
  EXPECT_EQ(load_photo(view).weight, (Bytes{64, 64, 64, 64}));
  EXPECT_EQ(load_photo(view).rgb[0], 20);
  view.camera.width_px = view.camera.height_px = 1;
  EXPECT_EQ(load_photo(view).weight, (Bytes{64}));
  save_png(pixels(1, 1, 1, {255}), view.mask_path);
  EXPECT_TRUE(load_photo(view).weight.empty());
  save_png(pixels(2, 2, 1, {255, 0, 255, 0}), view.mask_path);  // what is hidden bleeds into neither
  EXPECT_NEAR(load_photo(view).alpha[0], 51, 1);
  EXPECT_NEAR(load_photo(view).rgb[0], 20, 1);
  EXPECT_EQ(load_photo(view).weight, (Bytes{128}));
}

TEST(LoadPhoto, AcceptsMasksOfAnyChannelCountAndSize) {
  TestFolder folder;
  ByteImage photo(4, 4, 3);
  SceneView view = png_view(folder, photo);
  view.mask_path = folder / "mask.png";
  const auto weight_under = [&](const ByteImage& mask) {
    save_png(mask, view.mask_path);
    return load_photo(view).weight;
  };
  const Bytes left = {255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0};
  EXPECT_EQ(weight_under(pixels(4, 4, 1, left)), left);
  EXPECT_EQ(weight_under(pixels(2, 2, 1, {255, 0, 255, 0})), left);  // smaller
  EXPECT_EQ(weight_under(area_scaled(pixels(4, 4, 1, left), 16, 16)), left);
  EXPECT_EQ(weight_under(pixels(2, 2, 3, {255, 255, 255, 0, 0, 0, 255, 255, 255, 0, 0, 0})), left);
  EXPECT_EQ(weight_under(pixels(2, 2, 2, {9, 255, 9, 0, 9, 255, 9, 0})), left);  // transparent: alpha counts
  EXPECT_EQ(weight_under(pixels(2, 2, 2, {255, 255, 0, 255, 255, 255, 0, 255})), left);  // opaque
  EXPECT_EQ(weight_under(pixels(1, 1, 3, {10, 20, 31})), Bytes(16, 20));
  EXPECT_TRUE(weight_under(pixels(1, 1, 1, {255})).empty());
}

TEST(LoadPhoto, MultipliesMaskAndAlpha) {
  TestFolder folder;
  SceneView view = png_view(folder, pixels(2, 1, 4, {1, 2, 3, 128, 1, 2, 3, 255}));
  view.mask_path = folder / "mask.png";
  save_png(pixels(2, 1, 1, {128, 64}), view.mask_path);
  EXPECT_EQ(load_photo(view).weight, (Bytes{64, 64}));
}

TEST(LoadPhoto, AppliesMaskToUprightPhoto) {
  TestFolder folder;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    Jpeg jpeg = waves(24, 16);
    jpeg.app1 = exif(orientation, true);
    const bool turned = swaps_axes(orientation);
    const int width = turned ? 16 : 24, height = turned ? 24 : 16;
    SceneView view = view_of(folder.write("a.jpg", jpeg.encode()), width, height, width, height);
    view.mask_path = folder / "mask.png";
    ByteImage mask(width, height, 1);
    for (std::size_t i = 0; i < mask.values.size(); ++i) mask.values[i] = static_cast<std::uint8_t>(i % 251);
    save_png(mask, view.mask_path);
    EXPECT_EQ(load_photo(view).weight, mask.values) << orientation;
  }
}

TEST(LoadPhoto, MaskedPixelsDoNotBleedIntoOthers) {
  TestFolder folder;
  SceneView view = png_view(folder, pixels(2, 2, 3, {255, 0, 0, 0, 100, 0, 255, 0, 0, 0, 100, 0}));
  view.camera.width_px = view.camera.height_px = 1;
  view.mask_path = folder / "mask.png";
  save_png(pixels(2, 2, 1, {0, 255, 0, 255}), view.mask_path);
  EXPECT_EQ(load_photo(view).rgb, (Bytes{1, 100, 0}));
  EXPECT_EQ(load_photo(view).weight, (Bytes{128}));
}

TEST(LoadPhoto, RejectsMaskWithAnotherAspectRatio) {
  TestFolder folder;
  SceneView view = png_view(folder, ByteImage(100, 50, 3));
  view.mask_path = folder / "mask.png";
  save_png(ByteImage(101, 50, 1), view.mask_path);
  EXPECT_EQ(error_of([&] { load_photo(view); }), "");
  save_png(ByteImage(50, 100, 1), view.mask_path);
  EXPECT_EQ(error_of([&] { load_photo(view); }),
            view.mask_path.string() +
                ": the mask has 50 x 100 pixels but its photo photo.png has 100 x 50; both must "
                "have the same aspect ratio");
  view.mask_path = folder / "none.png";
  EXPECT_EQ(error_of([&] { load_photo(view); }),
            "cannot open " + view.mask_path.string() + ": No such file or directory");
}

TEST(LoadPhoto, ScalesDistortedPhotoToTheCamerasFocalLength) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("a.jpg", waves(400, 240).encode());
  SceneView view = view_of(path, 400, 240, 160, 100);  // the camera sees about the middle 80 %
  view.lens.radial[0] = 1e-12;                         // negligible, but not a pinhole
  view.camera.focal_px = {50, 50};
  const Photo photo = load_photo(view);
  ASSERT_EQ(photo.width_px, 160);
  ASSERT_EQ(photo.height_px, 100);
  const ByteImage half = area_scaled(load_byte_image(path), 200, 120);
  for (int y = 0; y < 100; ++y) {
    for (int x = 0; x < 160; ++x) {
      const int at = 3 * (200 * (y + 10) + x + 20), to = 3 * (160 * y + x);
      EXPECT_NEAR(photo.rgb[static_cast<std::size_t>(to)], half.values[static_cast<std::size_t>(at)], 4);
    }
  }
}

TEST(LoadPhoto, DoesNotDependOnThreadCount) {
  TestFolder folder;
  SceneView view = view_of(folder.write("a.jpg", waves(300, 200).encode()), 300, 200, 211, 141);
  Photo one, two;
  with_threads(1, [&] { one = load_photo(view); });
  with_threads(2, [&] { two = load_photo(view); });
  EXPECT_EQ(one.rgb, two.rgb);
}

}  // namespace
}  // namespace stipple
