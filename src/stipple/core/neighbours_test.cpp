// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/neighbours.h"

#include <gtest/gtest.h>

namespace stipple {
namespace {

TEST(Neighbours, TheMeanIsOverTheNearest) {
  const std::vector<Vec3f> points = {{0, 0, 0}, {1, 0, 0}, {0, 2, 0}, {0, 0, 9}};
  EXPECT_EQ(neighbour_distances2(points, 2)[0], (1.0f + 4.0f) / 2);
  EXPECT_EQ(neighbour_distances2(points, 3)[0], (1.0f + 4.0f + 81.0f) / 3);
  EXPECT_EQ(neighbour_distances2(points, 9)[0], (1.0f + 4.0f + 81.0f) / 3);
}

TEST(Neighbours, APointAloneHasADistanceOfOne) {
  EXPECT_EQ(neighbour_distances2({{1, 2, 3}}, 3), std::vector<float>{1});
  EXPECT_TRUE(neighbour_distances2({}, 3).empty());
}

}  // namespace
}  // namespace stipple
