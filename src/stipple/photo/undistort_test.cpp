// SPDX-License-Identifier: Apache-2.0
#include "stipple/photo/undistort.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stipple/camera/lens_projection.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/scene/formats/colmap_lens.h"

namespace stipple {
namespace {

constexpr int kWidthPx = 640, kHeightPx = 480;
constexpr double kBlobStepPx = 40;  // between blobs, in the undistorted image

Lens lens_of(std::string_view name, const std::vector<double>& parameters) {
  return make_colmap_lens(find_colmap_lens_model(name).value(), kWidthPx, kHeightPx, parameters);
}

std::vector<Lens> distorted_lenses() {
  return {
      lens_of("SIMPLE_RADIAL", {600, 315, 245, -0.2}),
      lens_of("SIMPLE_RADIAL", {600, 315, 245, 0.2}),
      lens_of("OPENCV", {500, 510, 325, 235, -0.25, 0.08, 1e-3, -2e-3}),
      lens_of("FULL_OPENCV", {500, 510, 315, 245, 0.3, -0.1, 1e-3, -2e-3, 0.02, 0.5, -0.1, 0.03}),
      lens_of("OPENCV_FISHEYE", {330, 335, 315, 245, 0.03, -0.01, 0.004, -0.001}),  // 140 degrees across
      lens_of("OPENCV_FISHEYE", {160, 160, 315, 245, 0, 0, 0, 0}),                  // sees behind itself
  };
}

Vec2<double> to_pixel(const Camera& camera, Vec3<double> p) {
  return {camera.focal_px.x * p.x / p.z + camera.center_px.x,
          camera.focal_px.y * p.y / p.z + camera.center_px.y};
}

Photo filled_photo(int width_px, int height_px, std::uint8_t value) {
  Photo photo{width_px, height_px, {}, {}};
  photo.rgb.assign(3 * photo.pixel_count(), value);
  return photo;
}

// What the lens sees if the pinhole camera sees pattern(x, y), in 0 .. 255, at its pixel (x, y).
template <class Pattern>
Photo photograph(const Lens& lens, const Camera& camera, const Pattern& pattern) {
  Photo photo = filled_photo(lens.width_px, lens.height_px, 0);
  const LensProjection projection(lens);
  for (std::size_t i = 0; i < photo.pixel_count(); ++i) {
    const auto x = static_cast<double>(i % kWidthPx), y = static_cast<double>(i / kWidthPx);
    const auto direction = projection.unproject({x + 0.5, y + 0.5});
    if (!direction || direction->z <= 0) continue;
    const Vec2<double> pixel = to_pixel(camera, *direction);
    for (std::size_t c = 0; c < 3; ++c) {
      photo.rgb[3 * i + c] = static_cast<std::uint8_t>(std::lround(pattern(pixel.x, pixel.y)));
    }
  }
  return photo;
}

double smooth_pattern(double x, double y) {
  return 127 + 60 * std::sin(x / 9) + 60 * std::cos(y / 11 + x / 31);
}

// Round blobs at all multiples of the step.
double blobs(double x, double y) {
  const double dx = std::remainder(x, kBlobStepPx), dy = std::remainder(y, kBlobStepPx);
  return 250 * std::exp(-(dx * dx + dy * dy) / (2 * 4.0 * 4.0));
}

// The centroid of the blob around a position, from the pixels within half a step.
Vec2<double> centroid(const Photo& photo, double x, double y) {
  Vec2<double> sum{0, 0};
  double total = 0;
  const int reach = static_cast<int>(kBlobStepPx) / 2 - 1;
  for (int row = static_cast<int>(y) - reach; row < static_cast<int>(y) + reach; ++row) {
    for (int column = static_cast<int>(x) - reach; column < static_cast<int>(x) + reach; ++column) {
      const double value = photo.rgb[3 * (static_cast<std::size_t>(row) * photo.width_px + column)];
      sum = sum + Vec2<double>(column + 0.5, row + 0.5) * value;
      total += value;
    }
  }
  return sum * (1 / total);
}

TEST(Undistort, LeavesPinholeUnchanged) {
  const Lens lens = lens_of("OPENCV", {500.5, 510.25, 200.125, 300, 0, 0, 0, 0});
  const Camera camera = undistorted_camera(lens);
  EXPECT_EQ(camera.focal_px, Vec2f(500.5f, 510.25f));
  EXPECT_EQ(camera.center_px, Vec2f(200.125f, 300));
  EXPECT_EQ(camera.width_px, kWidthPx);
  EXPECT_EQ(camera.height_px, kHeightPx);
  EXPECT_EQ(camera.camera_from_world.rotation, RigidTransform().rotation);
  EXPECT_EQ(camera.camera_from_world.translation, Vec3f(0, 0, 0));
  const Photo photo = photograph(lens, camera, smooth_pattern);
  const Photo same = undistort(photo, lens, camera);
  EXPECT_EQ(same.rgb, photo.rgb);
  EXPECT_TRUE(same.weight.empty());
}

TEST(Undistort, SmallDistortionChangesLittle) {
  for (const double k : {-1e-9, 1e-9}) {
    const Camera camera = undistorted_camera(lens_of("SIMPLE_RADIAL", {500, 315, 245, k}));
    EXPECT_EQ(camera.width_px, kWidthPx);
    EXPECT_EQ(camera.height_px, kHeightPx);
    EXPECT_NEAR(camera.focal_px.x, 500, 1e-3);
    EXPECT_NEAR(camera.center_px.x, 315, 1e-3);
    EXPECT_NEAR(camera.center_px.y, 245, 1e-3);
  }
}

TEST(Undistort, FitsTheLensAndKeepsItsPixelAspectRatio) {
  for (const Lens& lens : distorted_lenses()) {
    const Camera camera = undistorted_camera(lens);
    EXPECT_LE(camera.width_px, lens.width_px);
    EXPECT_LE(camera.height_px, lens.height_px);
    EXPECT_GE(camera.width_px, lens.width_px / 2) << lens.model;
    EXPECT_GE(camera.height_px, lens.height_px / 2) << lens.model;
    EXPECT_LE(camera.focal_px.x, lens.focal_px.x);
    EXPECT_NEAR(camera.focal_px.x / camera.focal_px.y, lens.focal_px.x / lens.focal_px.y, 1e-6);
  }
}

TEST(Undistort, LooksAtMost60DegreesOffTheAxis) {
  const Camera camera = undistorted_camera(lens_of("SIMPLE_FISHEYE", {120, 320, 240}));
  EXPECT_NEAR((camera.width_px - 1 - (camera.center_px.x - 0.5)) / camera.focal_px.x, std::sqrt(3), 0.01);
  EXPECT_NEAR((camera.center_px.y - 0.5) / camera.focal_px.y, std::sqrt(3), 0.01);
}

TEST(Undistort, LeavesNoPixelBlank) {
  for (const Lens& lens : distorted_lenses()) {
    const Photo result = undistort(filled_photo(kWidthPx, kHeightPx, 200), lens, undistorted_camera(lens));
    EXPECT_TRUE(result.weight.empty()) << lens.model;
    EXPECT_EQ(result.rgb, std::vector<std::uint8_t>(result.rgb.size(), 200)) << lens.model;
  }
}

TEST(Undistort, UsesAsMuchOfThePhotoAsPossible) {
  // Two more pixels on every side would leave some blank.
  for (const double k : {-0.2, 0.2}) {
    const Lens lens = lens_of("SIMPLE_RADIAL", {600, 320, 240, k});
    Camera camera = undistorted_camera(lens);
    camera.width_px += 4;
    camera.height_px += 4;
    camera.center_px = camera.center_px + Vec2f(2, 2);
    EXPECT_FALSE(undistort(filled_photo(kWidthPx, kHeightPx, 200), lens, camera).weight.empty()) << k;
  }
}

TEST(Undistort, LeavesOutThePhotoBeyondTheFold) {
  // The corners lie beyond the fold of this lens.
  const Lens lens = lens_of("SIMPLE_RADIAL", {500, 320, 240, -0.35});
  ASSERT_FALSE(unproject(lens, {0.5, 0.5}));
  const Photo result = undistort(filled_photo(kWidthPx, kHeightPx, 200), lens, undistorted_camera(lens));
  EXPECT_TRUE(result.weight.empty());
  EXPECT_GE(result.width_px, 400);
}

TEST(Undistort, PointsLandWhereThePinholeCameraSeesThem) {
  std::mt19937 random(1);
  std::uniform_real_distribution uniform(-0.4, 0.4);
  for (const Lens& lens : distorted_lenses()) {
    const Camera camera = undistorted_camera(lens);
    for (int i = 0; i < 1000; ++i) {
      const Vec3<double> point{3 * uniform(random), 3 * uniform(random), 3};
      const auto pixel = project(lens, point);
      ASSERT_TRUE(pixel) << lens.model;
      const auto direction = unproject(lens, *pixel);
      ASSERT_TRUE(direction) << lens.model;
      const Vec2<double> expected = to_pixel(camera, point), found = to_pixel(camera, *direction);
      EXPECT_NEAR(found.x, expected.x, 1e-9) << lens.model;
      EXPECT_NEAR(found.y, expected.y, 1e-9) << lens.model;
    }
  }
}

TEST(Undistort, FeaturesLandInTheRightPlaces) {
  for (const Lens& lens : distorted_lenses()) {
    const Camera camera = undistorted_camera(lens);
    const Photo result = undistort(photograph(lens, camera, blobs), lens, camera);
    double worst = 0;
    for (double y = kBlobStepPx; y + kBlobStepPx / 2 < result.height_px; y += kBlobStepPx) {
      for (double x = kBlobStepPx; x + kBlobStepPx / 2 < result.width_px; x += kBlobStepPx) {
        const Vec2<double> found = centroid(result, x, y);
        worst = std::max(worst, std::hypot(found.x - x, found.y - y));
      }
    }
    EXPECT_LT(worst, 0.1) << lens.model;
  }
}

TEST(Undistort, ShowsWhatThePinholeCameraSees) {
  for (const Lens& lens : distorted_lenses()) {
    const Camera camera = undistorted_camera(lens);
    const Photo result = undistort(photograph(lens, camera, smooth_pattern), lens, camera);
    double sum = 0;
    for (std::size_t i = 0; i < result.pixel_count(); ++i) {
      const auto x = static_cast<double>(i % result.width_px), y = static_cast<double>(i / result.width_px);
      sum += std::pow(result.rgb[3 * i] - smooth_pattern(x + 0.5, y + 0.5), 2);
    }
    // A shift of half a pixel would cause an error of about 3.
    EXPECT_LT(std::sqrt(sum / static_cast<double>(result.pixel_count())), 1.0) << lens.model;
  }
}

// The pinhole camera sees two pixels further to the left than the lens.
TEST(Undistort, PixelsThatTheLensDidNotSeeHaveZeroWeight) {
  const Lens lens =
      make_colmap_lens(*find_colmap_lens_model("PINHOLE"), 4, 1, std::vector<double>{10, 10, 2, 0.5});
  Camera camera = undistorted_camera(lens);
  camera.center_px.x += 2;
  Photo photo = filled_photo(4, 1, 0);
  photo.rgb = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120};
  const Photo result = undistort(photo, lens, camera);
  EXPECT_EQ(result.rgb, (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(result.weight, (std::vector<std::uint8_t>{0, 0, 255, 255}));
}

TEST(Undistort, InterpolatesColoursAndWeights) {
  const Lens lens =
      make_colmap_lens(*find_colmap_lens_model("PINHOLE"), 2, 2, std::vector<double>{10, 10, 1, 1});
  Camera camera = undistorted_camera(lens);
  camera.center_px = camera.center_px + Vec2f(0.25f, -0.25f);
  Photo photo = filled_photo(2, 2, 0);
  photo.rgb = {0, 1, 2, 100, 101, 102, 200, 201, 202, 40, 41, 42};
  photo.weight = {0, 255, 255, 100};
  const Photo result = undistort(photo, lens, camera);
  // Pixel (1, 0) samples a quarter of a pixel down and to the left; (0, y) is clamped left of the first
  // centre and (x, 1) below the last.
  EXPECT_EQ(result.rgb[0], 50);                                                        // 3/4 * 0 + 1/4 * 200
  EXPECT_EQ(result.rgb[3], std::lround(0.75 * 75 + 0.25 * (0.25 * 200 + 0.75 * 40)));  // 76.25
  EXPECT_EQ(result.rgb[6], 200);
  EXPECT_EQ(result.rgb[9], 80);
  EXPECT_EQ(result.rgb[11], 82);
  EXPECT_EQ(result.weight, (std::vector<std::uint8_t>{64, 178, 255, 139}));
}

TEST(Undistort, InterpolatesTheAlphaOfAnObjectLikeItsColours) {
  const Lens lens =
      make_colmap_lens(*find_colmap_lens_model("PINHOLE"), 2, 1, std::vector<double>{10, 10, 1, 0.5});
  Camera camera = undistorted_camera(lens);
  camera.center_px.x -= 0.25f;
  Photo photo = filled_photo(2, 1, 0);
  photo.rgb = {0, 0, 0, 200, 200, 200};
  photo.alpha = {0, 200};
  const Photo result = undistort(photo, lens, camera);
  EXPECT_EQ(result.alpha, (std::vector<std::uint8_t>{50, 200}));
  EXPECT_EQ(result.rgb[0], 50);
  EXPECT_TRUE(undistort(filled_photo(2, 1, 0), lens, camera).alpha.empty());
}

TEST(Undistort, DoesNotDependOnThreadCount) {
  const Lens lens = distorted_lenses()[2];
  const Camera camera = undistorted_camera(lens);
  const Photo photo = photograph(lens, camera, smooth_pattern);
  Photo one, two;
  with_threads(1, [&] { one = undistort(photo, lens, camera); });
  with_threads(2, [&] { two = undistort(photo, lens, camera); });
  EXPECT_EQ(one.rgb, two.rgb);
  EXPECT_EQ(one.weight, two.weight);
}

TEST(Undistort, RejectsLensThatSeesNothing) {
  try {  // all it sees lands within 90 px of the principal point, far outside the image
    undistorted_camera(lens_of("SIMPLE_RADIAL", {500, 1000, 240, -5}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "a SIMPLE_RADIAL camera is so distorted that no part of its photos can be undistorted; "
                 "calibrate it again");
  }
}

}  // namespace
}  // namespace stipple
