// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "stipple/math/math.h"

namespace stipple {
namespace {

using F = Math<float>;

TEST(Density, MeasuresTheGradientInHalfImageSizes) {
  EXPECT_EQ(F::density_statistic({3, 4}, {1, 1}), Vec2f(5, 1));
  EXPECT_EQ(F::density_statistic({-0.5f, 0}, {400, 300}), Vec2f(200, 1));
  EXPECT_EQ(F::density_statistic({0, 0.25f}, {400, 300}), Vec2f(75, 1));
}

// In an image of twice the size, the same change of the scene moves a mean by twice as many pixels.
TEST(Density, DoesNotDependOnTheResolution) {
  EXPECT_EQ(F::density_statistic({0.25f, -0.125f}, {800, 600}),
            F::density_statistic({0.5f, -0.25f}, {400, 300}));
}

TEST(Density, CountsViewsWithZeroGradient) {
  EXPECT_EQ(F::density_statistic({0, 0}, {400, 300}), Vec2f(0, 1));
}

}  // namespace
}  // namespace stipple
