// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/robust_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stipple {
namespace {

// A grid of points in a cube of side 2 around (5, 0, 0).
Gaussians cube() {
  constexpr int kSide = 11;
  Gaussians g = make_gaussians(kSide * kSide * kSide, 0);
  for (int i = 0; i < kSide * kSide * kSide; ++i) {
    const auto coordinate = [](int n) { return static_cast<float>(n % kSide) * 0.2f - 1; };
    g.mean[static_cast<std::size_t>(i)] = {5 + coordinate(i), coordinate(i / kSide),
                                           coordinate(i / kSide / kSide)};
  }
  return g;
}

void expect_cube(const RobustBounds& b) {
  EXPECT_NEAR(b.low.x, 4, 1e-4f);
  EXPECT_NEAR(b.high.x, 6, 1e-4f);
  EXPECT_NEAR(b.low.y, -1, 1e-4f);
  EXPECT_NEAR(b.high.z, 1, 1e-4f);
  EXPECT_NEAR(b.middle.x, 5, 1e-4f);
  EXPECT_NEAR(b.radius, 1.36f, 0.05f);  // of a ball with the volume of the cube, and half a step around it
}

TEST(RobustBounds, AreThoseOfMostGaussians) { expect_cube(robust_bounds(cube())); }

TEST(RobustBounds, FloatersAndBrokenGaussiansDoNotCount) {
  Gaussians g = cube();
  const float broken = std::numeric_limits<float>::quiet_NaN();
  g.mean.insert(g.mean.end(), {{1e6f, 0, 0}, {-1e20f, 1e6f, 0}, {broken, 0, 0}, {0, INFINITY, 0}});
  g.logit_opacity.resize(g.mean.size(), 0);
  expect_cube(robust_bounds(g));
}

TEST(RobustBounds, GaussiansCountByTheirOpacity) {
  Gaussians g = cube();
  g.mean.resize(2 * g.mean.size(), {-50, 0, 0});  // half of all, but hardly visible
  g.logit_opacity.resize(g.mean.size(), -8);
  expect_cube(robust_bounds(g));
}

TEST(RobustBounds, OfNothingAndOfOnePlaceAreABallAroundIt) {
  EXPECT_EQ(robust_bounds(Gaussians()).radius, 1);
  Gaussians g = make_gaussians(3, 0);
  for (Vec3f& mean : g.mean) mean = {1, 2, 3};
  const RobustBounds b = robust_bounds(g);
  EXPECT_EQ(b.middle, Vec3f(1, 2, 3));
  EXPECT_EQ(b.radius, 1);
}

}  // namespace
}  // namespace stipple
