// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/random_points.h"

#include <gtest/gtest.h>

#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"
#include "tests/helpers/object_scene.h"

namespace stipple {
namespace {

constexpr std::size_t kCount = 4000;

std::vector<SceneView> views_of(const std::vector<Camera>& cameras) {
  std::vector<SceneView> views;
  for (const Camera& camera : cameras) views.emplace_back().camera = camera;
  return views;
}

// A grid of cameras in the plane z = 0 that all look along +z.
std::vector<SceneView> facing_forward() {
  std::vector<Camera> cameras = object_cameras(25, 64);
  for (int i = 0; i < 25; ++i)
    cameras[static_cast<std::size_t>(i)].camera_from_world = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1}, {0.2f * static_cast<float>(i % 5), 0.2f * static_cast<float>(i / 5), 0}};
  return views_of(cameras);
}

template <class Condition>
float share(const Points& points, Condition condition) {
  return static_cast<float>(std::count_if(points.position.begin(), points.position.end(), condition)) /
         static_cast<float>(points.size());
}

TEST(RandomPoints, AreDenseWhereManyCamerasLook) {
  const std::vector<SceneView> views = views_of(object_cameras(24, 64));
  const Points points = random_points(views, kCount, 1);
  ASSERT_EQ(points.size(), kCount);
  std::size_t anywhere = 0, others = 0;  // every fourth point is anywhere in front of a camera
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto seen = std::count_if(views.begin(), views.end(), [&](const SceneView& v) {
      return project_point(v.camera, points.position[i]).has_value();
    });
    EXPECT_GE(seen, 1);
    (i % 4 == 0 ? anywhere : others) += seen < 12;
  }
  EXPECT_GT(anywhere, kCount / 4 / 3);
  EXPECT_LT(others, 2 * anywhere) << "although they are three times as many";
  EXPECT_GT(share(points, [](Vec3f p) { return dot(p, p) > 9; }), 0.1f) << "the background";
}

TEST(RandomPoints, CoverTheDepthInFrontOfCamerasThatLookOneWay) {
  const std::vector<SceneView> views = facing_forward();
  const Points points = random_points(views, kCount, 1);
  float farthest = 0;
  for (const Vec3f& p : points.position) farthest = std::max(farthest, p.z);
  for (const float part : {0.0f, 0.25f, 0.5f, 0.75f})
    EXPECT_GT(
        share(points, [&](Vec3f p) { return part * farthest < p.z && p.z < (part + 0.25f) * farthest; }),
        0.06f)
        << part;
}

TEST(RandomPoints, DependOnTheSeedAndNotOnTheThreads) {
  const std::vector<SceneView> views = facing_forward();
  Points one, two;
  with_threads(1, [&] { one = random_points(views, kCount, 1); });
  with_threads(2, [&] { two = random_points(views, kCount, 1); });
  EXPECT_EQ(one.position, two.position);
  EXPECT_EQ(one.color, two.color);
  EXPECT_NE(random_points(views, kCount, 2).position, one.position);
}

}  // namespace
}  // namespace stipple
