// SPDX-License-Identifier: Apache-2.0
#include "stipple/camera/lens.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "stipple/camera/lens_projection.h"
#include "stipple/core/error.h"
#include "stipple/scene/formats/colmap_lens.h"

namespace stipple {
namespace {

using std::numbers::pi;

constexpr int kWidthPx = 640, kHeightPx = 480;

Lens lens_of(std::string_view name, const std::vector<double>& parameters) {
  return make_colmap_lens(find_colmap_lens_model(name).value(), kWidthPx, kHeightPx, parameters);
}

double distance(Vec2<double> a, Vec2<double> b) { return std::hypot(a.x - b.x, a.y - b.y); }
double distance(Vec3<double> a, Vec3<double> b) { return std::hypot(a.x - b.x, a.y - b.y, a.z - b.z); }

// The corners lie 400 px from the centre, so a fisheye with a focal length of 330 px covers 140 degrees.
std::vector<Lens> realistic_lenses() {
  return {
      lens_of("SIMPLE_PINHOLE", {500, 315, 245}),
      lens_of("PINHOLE", {500, 510, 315, 245}),
      lens_of("SIMPLE_RADIAL", {600, 315, 245, -0.3}),
      lens_of("SIMPLE_RADIAL", {600, 315, 245, 0.3}),
      lens_of("RADIAL", {500, 315, 245, -0.3, 0.1}),
      lens_of("RADIAL", {500, 315, 245, 0.3, -0.1}),
      lens_of("OPENCV", {500, 510, 315, 245, -0.3, 0.1, 1e-3, -2e-3}),
      lens_of("OPENCV", {500, 510, 315, 245, 0.3, -0.1, -1e-3, 1e-3}),
      lens_of("FULL_OPENCV", {500, 510, 315, 245, 0.3, -0.1, 1e-3, -2e-3, 0.02, 0.5, -0.1, 0.03}),
      lens_of("FULL_OPENCV", {500, 510, 315, 245, -0.3, 0.1, 1e-3, -2e-3, -0.01, 0.1, 0.02, -0.01}),
      lens_of("OPENCV_FISHEYE", {330, 335, 315, 245, 0.03, -0.01, 0.004, -0.001}),
      lens_of("OPENCV_FISHEYE", {330, 335, 315, 245, -0.03, 0.01, -0.004, 0.001}),
      lens_of("SIMPLE_RADIAL_FISHEYE", {330, 315, 245, 0.03}),
      lens_of("RADIAL_FISHEYE", {330, 315, 245, -0.03, 0.005}),
      lens_of("SIMPLE_FISHEYE", {330, 315, 245}),
      lens_of("FISHEYE", {330, 335, 315, 245}),
      lens_of("FISHEYE", {150, 152, 315, 245}),  // 300 degrees
  };
}

TEST(ColmapLensModel, HasColmapsIdsNamesAndParameterCounts) {
  const std::vector<std::pair<std::string_view, int>> colmap = {{"SIMPLE_PINHOLE", 3},
                                                                {"PINHOLE", 4},
                                                                {"SIMPLE_RADIAL", 4},
                                                                {"RADIAL", 5},
                                                                {"OPENCV", 8},
                                                                {"OPENCV_FISHEYE", 8},
                                                                {"FULL_OPENCV", 12},
                                                                {"FOV", 5},
                                                                {"SIMPLE_RADIAL_FISHEYE", 4},
                                                                {"RADIAL_FISHEYE", 5},
                                                                {"THIN_PRISM_FISHEYE", 12},
                                                                {"RAD_TAN_THIN_PRISM_FISHEYE", 16},
                                                                {"SIMPLE_DIVISION", 4},
                                                                {"DIVISION", 5},
                                                                {"SIMPLE_FISHEYE", 3},
                                                                {"FISHEYE", 4},
                                                                {"EUCM", 6},
                                                                {"EQUIRECTANGULAR", 2}};
  for (int id = 0; id < static_cast<int>(colmap.size()); ++id) {
    const ColmapLensModel by_id = find_colmap_lens_model(id).value();
    const ColmapLensModel by_name = find_colmap_lens_model(colmap[id].first).value();
    EXPECT_EQ(by_id.name, colmap[id].first);
    EXPECT_EQ(by_name.name, colmap[id].first);
    EXPECT_EQ(by_id.parameter_count, colmap[id].second);
    EXPECT_EQ(by_id.is_supported, id <= 6 || id == 8 || id == 9 || id == 14 || id == 15);
  }
  EXPECT_FALSE(find_colmap_lens_model(-1) || find_colmap_lens_model(18));
  EXPECT_FALSE(find_colmap_lens_model("opencv") || find_colmap_lens_model(""));
}

TEST(ColmapLensModel, ErrorNamesUnsupportedModel) {
  for (int id = 0; id < 18; ++id) {
    const ColmapLensModel model = find_colmap_lens_model(id).value();
    if (model.is_supported) continue;
    try {
      make_colmap_lens(model, kWidthPx, kHeightPx, std::vector<double>(model.parameter_count, 1.0));
      FAIL() << model.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), "camera model " + std::string(model.name) +
                                  " is not supported; undistort the images first, for example with \"colmap "
                                  "image_undistorter\"");
    }
  }
}

TEST(ColmapLensModel, RejectsInvalidParameters) {
  EXPECT_THROW(lens_of("SIMPLE_PINHOLE", {0, 1, 2}), Error);
  EXPECT_THROW(lens_of("PINHOLE", {500, -500, 1, 2}), Error);
  EXPECT_THROW(lens_of("SIMPLE_RADIAL", {500, 1, 2, std::numeric_limits<double>::quiet_NaN()}), Error);
  EXPECT_THROW(lens_of("SIMPLE_RADIAL", {std::numeric_limits<double>::infinity(), 1, 2, 0}), Error);
}

// Every parameter has a different value, so that swapping two fails the test. Expected values, computed by
// hand, are for x = 1, y = 0.5, z = 2: u = 0.5, v = 0.25, r^2 = 0.3125, theta = atan(sqrt(0.3125)).
TEST(Lens, ParametersAreInColmapsOrder) {
  const auto expect_pixel = [](const Lens& lens, double x, double y) {
    const auto pixel = project(lens, {1, 0.5, 2});
    ASSERT_TRUE(pixel) << lens.model;
    EXPECT_NEAR(pixel->x, x, 1e-9) << lens.model;
    EXPECT_NEAR(pixel->y, y, 1e-9) << lens.model;
  };
  expect_pixel(lens_of("SIMPLE_PINHOLE", {400, 310, 250}), 510, 350);
  expect_pixel(lens_of("PINHOLE", {400, 600, 310, 250}), 510, 400);
  expect_pixel(lens_of("SIMPLE_RADIAL", {400, 310, 250, 0.16}), 520, 355);    // 1.05
  expect_pixel(lens_of("RADIAL", {400, 310, 250, 0.16, 0.256}), 525, 357.5);  // 1.075
  expect_pixel(lens_of("OPENCV", {400, 600, 310, 250, 0.16, 0.256, 0.01, 0.02}),
               310 + 400 * (0.5 * 1.075 + 0.0025 + 0.02 * 0.8125),
               250 + 600 * (0.25 * 1.075 + 0.01 * 0.4375 + 0.005));
  const double factor =
      (1.075 + 0.3 * 0.030517578125) / (1 + 0.08 * 0.3125 + 0.4 * 0.09765625 + 0.7 * 0.030517578125);
  expect_pixel(lens_of("FULL_OPENCV", {400, 600, 310, 250, 0.16, 0.256, 0.01, 0.02, 0.3, 0.08, 0.4, 0.7}),
               310 + 400 * (0.5 * factor + 0.0025 + 0.02 * 0.8125),
               250 + 600 * (0.25 * factor + 0.01 * 0.4375 + 0.005));
}

TEST(Lens, FisheyeParametersAreInColmapsOrder) {
  // The point lies 30 degrees off the axis, along (0.6, 0.8).
  const double theta = pi / 6, t2 = theta * theta;
  const Vec3<double> point{0.6 * std::sin(theta), 0.8 * std::sin(theta), std::cos(theta)};
  const auto expect_factor = [&](const Lens& lens, double fy, double factor) {
    const auto pixel = project(lens, point);
    ASSERT_TRUE(pixel) << lens.model;
    EXPECT_NEAR(pixel->x, 310 + 400 * 0.6 * theta * factor, 1e-9) << lens.model;
    EXPECT_NEAR(pixel->y, 250 + fy * 0.8 * theta * factor, 1e-9) << lens.model;
  };
  expect_factor(lens_of("SIMPLE_FISHEYE", {400, 310, 250}), 400, 1);
  expect_factor(lens_of("FISHEYE", {400, 600, 310, 250}), 600, 1);
  expect_factor(lens_of("SIMPLE_RADIAL_FISHEYE", {400, 310, 250, 0.1}), 400, 1 + 0.1 * t2);
  expect_factor(lens_of("RADIAL_FISHEYE", {400, 310, 250, 0.1, 0.2}), 400, 1 + 0.1 * t2 + 0.2 * t2 * t2);
  expect_factor(lens_of("OPENCV_FISHEYE", {400, 600, 310, 250, 0.1, 0.2, 0.3, 0.4}), 600,
                1 + 0.1 * t2 + 0.2 * t2 * t2 + 0.3 * t2 * t2 * t2 + 0.4 * t2 * t2 * t2 * t2);
}

TEST(Lens, ZeroCoefficientsMakeAPinhole) {
  const Lens zeros = lens_of("FULL_OPENCV", {500, 510, 315, 245, 0, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_TRUE(zeros.is_pinhole());
  EXPECT_TRUE(lens_of("SIMPLE_RADIAL", {500, 315, 245, 0}).is_pinhole());
  EXPECT_FALSE(lens_of("SIMPLE_RADIAL", {500, 315, 245, 1e-9}).is_pinhole());
  EXPECT_FALSE(lens_of("OPENCV", {500, 510, 315, 245, 0, 0, 0, 1e-9}).is_pinhole());
  EXPECT_FALSE(lens_of("FISHEYE", {500, 500, 315, 245}).is_pinhole());
  EXPECT_FALSE(lens_of("OPENCV_FISHEYE", {500, 500, 315, 245, 0, 0, 0, 0}).is_pinhole());
  EXPECT_EQ(project(zeros, {1, -2, 4}), Vec2<double>(315 + 125, 245 - 255));
  EXPECT_EQ(project(zeros, {1e9, 0, 1}), Vec2<double>(315 + 5e11, 245));  // a pinhole has no limit
}

TEST(Lens, PixelsRoundTrip) {
  std::mt19937 random(1);
  for (const Lens& lens : realistic_lenses()) {
    const LensProjection projection(lens);
    for (int i = 0; i < 1000; ++i) {
      const Vec2<double> pixel{std::uniform_real_distribution(0.0, 1.0 * kWidthPx)(random),
                               std::uniform_real_distribution(0.0, 1.0 * kHeightPx)(random)};
      const auto direction = projection.unproject(pixel);
      ASSERT_TRUE(direction) << lens.model << " " << pixel.x << " " << pixel.y;
      EXPECT_NEAR(dot(*direction, *direction), 1, 1e-14);
      const auto back = projection.project(*direction * 7.0);
      ASSERT_TRUE(back) << lens.model;
      EXPECT_LT(distance(*back, pixel), 1e-9) << lens.model;
    }
  }
}

TEST(Lens, DirectionsRoundTrip) {
  std::mt19937 random(2);
  for (const Lens& lens : realistic_lenses()) {
    const LensProjection projection(lens);
    const auto corner = projection.unproject({0, 0});
    ASSERT_TRUE(corner) << lens.model;
    for (int i = 0; i < 1000; ++i) {  // up to the corner's angle from the axis
      const double theta = std::uniform_real_distribution(0.0, std::acos(corner->z))(random);
      const double around = std::uniform_real_distribution(0.0, 2 * pi)(random);
      const Vec3<double> direction{std::sin(theta) * std::cos(around), std::sin(theta) * std::sin(around),
                                   std::cos(theta)};
      const auto pixel = projection.project(direction);
      ASSERT_TRUE(pixel) << lens.model;
      const auto back = projection.unproject(*pixel);
      ASSERT_TRUE(back) << lens.model;
      EXPECT_LT(distance(*back, direction), 1e-9) << lens.model;
    }
  }
}

TEST(Lens, FreeFunctionsAgreeWithLensProjection) {
  const Lens lens = lens_of("OPENCV", {500, 510, 315, 245, -0.3, 0.1, 1e-3, -2e-3});
  EXPECT_EQ(project(lens, {0.1, 0.2, 1}), LensProjection(lens).project({0.1, 0.2, 1}));
  EXPECT_EQ(unproject(lens, {10, 20}), LensProjection(lens).unproject({10, 20}));
}

TEST(Lens, OpticalAxisProjectsToPrincipalPoint) {
  for (const Lens& lens : realistic_lenses()) {
    const auto pixel = project(lens, {0, 0, 3});
    const auto direction = unproject(lens, lens.center_px);
    ASSERT_TRUE(pixel && direction) << lens.model;
    EXPECT_LT(distance(*pixel, lens.center_px), 1e-12) << lens.model;
    EXPECT_LT(distance(*direction, {0, 0, 1}), 1e-12) << lens.model;
    const auto near_axis = project(lens, {1e-9, -1e-9, 1});
    ASSERT_TRUE(near_axis) << lens.model;
    EXPECT_NEAR(near_axis->x - lens.center_px.x, 1e-9 * lens.focal_px.x, 1e-12) << lens.model;
  }
}

TEST(Lens, PerspectiveCannotSeeBehindItself) {
  const Lens lens = lens_of("SIMPLE_RADIAL", {500, 315, 245, 0.1});
  EXPECT_FALSE(project(lens, {0.1, 0.1, 0}));
  EXPECT_FALSE(project(lens, {0.1, 0.1, -1}));
  EXPECT_FALSE(project(lens, {0, 0, -1}));
}

TEST(Lens, FisheyeSeesBehindItself) {
  const Lens lens = lens_of("SIMPLE_FISHEYE", {100, 320, 240});
  const auto pixel = project(lens, {1, 0, -1});
  ASSERT_TRUE(pixel);
  EXPECT_NEAR(pixel->x, 320 + 100 * 0.75 * pi, 1e-9);
  EXPECT_NEAR(pixel->y, 240, 1e-9);
  EXPECT_FALSE(project(lens, {0, 0, -1}));  // straight behind maps to a circle, not to one pixel
  EXPECT_FALSE(project(lens, {0, 0, 0}));
  EXPECT_FALSE(unproject(lens, {320 + 100 * 1.01 * pi, 240}));
}

// r (1 + k r^2) has its maximum at r = sqrt(-1 / (3 k)), where it is 2 / 3 of r.
TEST(Lens, RadialDistortionEndsAtFold) {
  const double k = -0.3, fold = std::sqrt(1 / 0.9);
  const Lens lens = lens_of("SIMPLE_RADIAL", {500, 315, 245, k});
  EXPECT_TRUE(project(lens, {0.999 * fold, 0, 1}));
  EXPECT_FALSE(project(lens, {1.001 * fold, 0, 1}));
  EXPECT_FALSE(project(lens, {50, 0, 1}));
  EXPECT_TRUE(unproject(lens, {315 + 500 * 0.999 * fold * 2 / 3, 245}));
  EXPECT_FALSE(unproject(lens, {315 + 500 * 1.001 * fold * 2 / 3, 245}));
}

TEST(Lens, NothingIsVisibleBeyondFirstFold) {
  // r (1 - r^2 + 0.3 r^4) has extrema at r^2 = 1 -+ sqrt(1 / 3) and increases again after the second.
  const Lens lens = lens_of("RADIAL", {500, 315, 245, -1, 0.3});
  const double fold = std::sqrt(1 - std::sqrt(1.0 / 3));
  EXPECT_TRUE(project(lens, {0, 0.999 * fold, 1}));
  for (const double r : {1.001 * fold, 1.0, 1.5, 5.0}) EXPECT_FALSE(project(lens, {0, r, 1})) << r;
}

TEST(Lens, FisheyeEndsAtFold) {
  // theta (1 + k theta^2) has its maximum at theta = sqrt(-1 / (3 k)).
  const Lens lens = lens_of("SIMPLE_RADIAL_FISHEYE", {300, 315, 245, -1.0 / 3});
  EXPECT_TRUE(project(lens, {std::sin(0.999), 0, std::cos(0.999)}));
  EXPECT_FALSE(project(lens, {std::sin(1.001), 0, std::cos(1.001)}));
  EXPECT_FALSE(unproject(lens, {315 + 300 * 0.67, 245}));
}

TEST(Lens, EndsBeforePole) {
  // r / (1 - r^2) is infinite at r = 1, so directions with r < 1 cover every pixel.
  const Lens lens = lens_of("FULL_OPENCV", {500, 500, 315, 245, 0, 0, 0, 0, 0, -1, 0, 0});
  EXPECT_TRUE(project(lens, {0.999, 0, 1}));
  EXPECT_FALSE(project(lens, {1.001, 0, 1}));
  const auto far = unproject(lens, {315 + 500 * 1000, 245});
  ASSERT_TRUE(far);
  EXPECT_LT(far->x / far->z, 1);
}

TEST(Lens, RationalDistortionEndsAtFold) {
  // r / (1 + r^2) has its maximum, one half, at r = 1.
  const Lens lens = lens_of("FULL_OPENCV", {500, 500, 315, 245, 0, 0, 0, 0, 0, 1, 0, 0});
  EXPECT_TRUE(unproject(lens, {315 + 500 * 0.499, 245}));
  EXPECT_FALSE(unproject(lens, {315 + 500 * 0.501, 245}));
}

// With tangential distortion the fold is not a circle. Every visible direction must survive the round trip.
TEST(Lens, TangentialDistortionIsOneToOneWithinFold) {
  const Lens lens = lens_of("OPENCV", {500, 510, 315, 245, -0.3, 0, 0.01, -0.02});
  const LensProjection projection(lens);
  std::mt19937 random(3);
  std::uniform_real_distribution uniform(-1.2, 1.2);
  int seen = 0;
  for (int i = 0; i < 10000; ++i) {
    const Vec2<double> uv{uniform(random), uniform(random)};
    const auto pixel = projection.project({uv.x, uv.y, 1});
    if (!pixel) continue;
    ++seen;
    const auto back = projection.unproject(*pixel);
    ASSERT_TRUE(back) << uv.x << " " << uv.y;
    EXPECT_LT(distance({back->x / back->z, back->y / back->z}, uv), 1e-6) << uv.x << " " << uv.y;
  }
  EXPECT_GT(seen, 5000);
}

TEST(Lens, PixelsFarOutsideFoldHaveNoDirection) {
  for (const double p : {0.0, 0.01}) {
    const LensProjection projection(lens_of("OPENCV", {500, 510, 315, 245, -0.3, 0, p, -p}));
    for (double angle = 0; angle < 2 * pi; angle += 0.01) {
      for (const double radius_px : {450.0, 1000.0, 1e6, 1e100}) {
        const Vec2<double> pixel{315 + radius_px * std::cos(angle), 245 + radius_px * std::sin(angle)};
        EXPECT_FALSE(projection.unproject(pixel)) << angle << " " << radius_px;
      }
    }
  }
}

TEST(Lens, ResizedScalesPixels) {
  for (const Lens& lens : realistic_lenses()) {
    const Lens half = resized(lens, 320, 160);
    EXPECT_EQ(half.width_px, 320);
    EXPECT_EQ(half.height_px, 160);
    const auto pixel = project(lens, {0.2, -0.3, 1}), small = project(half, {0.2, -0.3, 1});
    ASSERT_TRUE(pixel && small) << lens.model;
    EXPECT_LT(distance(*small, *pixel * Vec2<double>(1.0 / 2, 1.0 / 3)), 1e-10) << lens.model;
  }
}

}  // namespace
}  // namespace stipple
