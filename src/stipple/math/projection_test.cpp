// SPDX-License-Identifier: Apache-2.0
// Projection: VJPs with respect to the Gaussian and the camera, inside the field of view and beyond each of
// the limits at which it is clamped.
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

template <class T>
using Placed = typename Math<T>::Placed;
template <class T>
using Projected = typename Math<T>::Projected;
template <class T>
using Pinhole = typename Math<T>::Pinhole;
using M = Math<double>;

Pinhole<double> random_camera(std::mt19937& rng) {
  Pinhole<double> c;
  c.rotation = M::rotation_from_quaternion(random_struct<Vec4<double>>(rng, 0.1, 1));
  c.translation = random_struct<Vec3<double>>(rng, -1, 1);
  c.focal_px = {uniform(rng, 300, 800), uniform(rng, 300, 800)};
  c.center_px = {uniform(rng, 200, 440), uniform(rng, 150, 330)};
  c.size_px = {640, 480};
  return c;
}

// A Gaussian whose slopes x/z and y/z are below (-1), within (0) or above (+1) the limits.
PackedPlaced<double> random_placed(std::mt19937& rng, const Pinhole<double>& c, int side_x, int side_y) {
  auto slope = [&](int side, double low, double high) {
    double width = high - low;
    if (side < 0) return low - uniform(rng, 0.01, 1) * width;
    if (side > 0) return high + uniform(rng, 0.01, 1) * width;
    return uniform(rng, low + 0.01 * width, high - 0.01 * width);
  };
  Vec2<double> low = M::slope_limit_low(c), high = M::slope_limit_high(c);
  double z = uniform(rng, 0.5, 10);
  Vec3<double> p(slope(side_x, low.x, high.x) * z, slope(side_y, low.y, high.y) * z, z);
  M::Shape shape{random_struct<Vec3<double>>(rng, 0.01, 1), random_struct<Vec4<double>>(rng, 0.1, 1)};
  return pack(transpose(c.rotation) * (p - c.translation), M::covariance(shape));
}

// The same values as constants of another scalar type.
template <class T>
Pinhole<T> constant(const Pinhole<double>& c) {
  Pinhole<T> r;
  Pinhole<double> copy = c;
  for (std::size_t i = 0; i < reals<double>(copy).size(); ++i) reals<T>(r)[i] = T(reals<double>(copy)[i]);
  return r;
}
template <class T>
Placed<T> constant(const Placed<double>& g) {
  Placed<T> r;
  Placed<double> copy = g;
  for (std::size_t i = 0; i < reals<double>(copy).size(); ++i) reals<T>(r)[i] = T(reals<double>(copy)[i]);
  return r;
}

class ProjectionSides : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(ProjectionSides, GaussianVjpIsExact) {
  auto [side_x, side_y] = GetParam();
  std::mt19937 rng(10);
  for (int i = 0; i < kTrials; ++i) {
    Pinhole<double> camera = random_camera(rng);
    expect_vjp<PackedPlaced, Projected>(
        rng, random_placed(rng, camera, side_x, side_y),
        [&](auto g) {
          using T = decltype(g.mean.x);
          return Math<T>::project(g.placed(), constant<T>(camera));
        },
        [&](auto g, auto w) { return pack_gradient(M::project_vjp(g.placed(), camera, w)); });
  }
}

TEST_P(ProjectionSides, CameraVjpIsExact) {
  auto [side_x, side_y] = GetParam();
  std::mt19937 rng(11);
  for (int i = 0; i < kTrials; ++i) {
    Pinhole<double> camera = random_camera(rng);
    Placed<double> g = random_placed(rng, camera, side_x, side_y).placed();
    auto y = [&] {
      auto c = seed<Pinhole>(camera);
      using T = decltype(c.focal_px.x);
      c.size_px = {T(camera.size_px.x), T(camera.size_px.y)};  // the image size is not a variable
      return Math<T>::project(constant<T>(g), c);
    }();
    auto dL_dy = random_struct<Projected<double>>(rng, -1, 1);
    expect_gradient(M::project_camera_vjp(g, camera, dL_dy), y, dL_dy);
  }
}

INSTANTIATE_TEST_SUITE_P(, ProjectionSides,
                         testing::Combine(testing::Values(-1, 0, 1), testing::Values(-1, 0, 1)));

TEST(Projection, GaussianOnTheAxisProjectsToThePrincipalPoint) {
  Pinhole<double> c;
  c.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  c.translation = {0, 0, 0};
  c.focal_px = {100, 200};
  c.center_px = {30, 40};
  c.size_px = {64, 64};
  Projected<double> s = M::project({{0, 0, 2}, {0.04, 0, 0, 0, 0.01, 0, 0, 0, 5}}, c);
  EXPECT_DOUBLE_EQ(s.mean_px.x, 30);
  EXPECT_DOUBLE_EQ(s.mean_px.y, 40);
  EXPECT_DOUBLE_EQ(s.depth, 2);
  EXPECT_NEAR(s.covariance_px2.x, 0.04 * 50 * 50, 1e-12);
  EXPECT_NEAR(s.covariance_px2.z, 0.01 * 100 * 100, 1e-12);
  EXPECT_NEAR(s.covariance_px2.y, 0, 1e-12);
}

TEST(Projection, LimitsOfACentredCameraAreTheClassicOnes) {
  Pinhole<double> c = {};
  c.focal_px = {500, 400};
  c.center_px = {320, 240};
  c.size_px = {640, 480};
  EXPECT_NEAR(M::slope_limit_high(c).x, 1.3 * 320 / 500, 1e-12);
  EXPECT_NEAR(M::slope_limit_low(c).x, -1.3 * 320 / 500, 1e-12);
  EXPECT_NEAR(M::slope_limit_high(c).y, 1.3 * 240 / 400, 1e-12);
  EXPECT_NEAR(M::slope_limit_low(c).y, -1.3 * 240 / 400, 1e-12);
}

}  // namespace
}  // namespace stipple
