// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/near_depth.h"

#include <gtest/gtest.h>

namespace stipple {
namespace {

Camera straight_ahead() { return {{}, {50, 50}, {50, 50}, 100, 100}; }

Scene scene_with_points(int count) {
  Scene scene;
  for (int i = 0; i < count; ++i) {
    scene.points.position.push_back({0, 0, 5 + static_cast<float>(i)});
    scene.points.position.push_back({9, 0, 1});  // not in the picture
    scene.points.position.push_back({0, 0, -1});
  }
  return scene;
}

TEST(NearDepth, IsThatOfTheNearestPointsApartFromAFew) {
  Scene scene = scene_with_points(100);
  EXPECT_EQ(near_depth(scene, straight_ahead(), {}, {}), 7);
  scene.points.position.push_back({0, 0, 0.1f});
  EXPECT_GE(near_depth(scene, straight_ahead(), {}, {}), 5);
}

TEST(NearDepth, IsThatOfTheGaussiansIfThereAreNoPointsToGoBy) {
  std::vector<ProjectedSplat> splats(4);
  for (std::size_t i = 0; i < splats.size(); ++i) splats[i].depth = 4 - static_cast<float>(i);
  const std::vector<float> area_px = {50, 30, 19, 1};  // at depths 4, 3, 2, 1
  EXPECT_EQ(near_depth(scene_with_points(3), straight_ahead(), splats, area_px), 3);
  Scene random = scene_with_points(100);
  random.has_random_points = true;
  EXPECT_EQ(near_depth(random, straight_ahead(), splats, area_px), 3);
  EXPECT_EQ(near_depth(random, straight_ahead(), {}, {}), 0);
}

}  // namespace
}  // namespace stipple
