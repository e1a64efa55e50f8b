// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/trim.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/core/random.h"
#include "tests/helpers/all_views.h"

namespace stipple {
namespace {

// Twelve cameras on a circle of radius 4 around a cloud of points of radius 1, with a field of view of 53
// degrees.
Scene ring_scene() {
  Scene scene;
  for (int i = 0; i < 12; ++i) {
    const double angle = 2 * M_PI * i / 12;
    const Vec3f from(static_cast<float>(4 * std::cos(angle)), static_cast<float>(4 * std::sin(angle)), 0);
    SceneView view;
    view.camera.width_px = view.camera.height_px = 100;
    view.camera.focal_px = {100, 100};
    view.camera.center_px = {50, 50};
    view.camera.camera_from_world = look_at(from, {0, 0, 0}, {0, 0, 1});
    scene.views.push_back(view);
  }
  Random random(1);
  while (scene.points.size() < 500) {
    const Vec3f p(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    if (dot(p, p) > 1) continue;
    scene.points.position.push_back(p);
    scene.points.color.push_back({9, 9, 9});
  }
  return scene;
}

Trimmer trimmer_of(const Scene& scene) { return Trimmer(scene, all_views(scene)); }

TEST(Trim, StraysAreInFrontOfOneCameraOnly) {
  Scene scene = ring_scene();
  const Trimmer trimmer = trimmer_of(scene);
  EXPECT_TRUE(trimmer.is_stray({3.5f, 0, 0.2f}));  // half a unit in front of a camera
  EXPECT_TRUE(trimmer.is_stray({3.2f, 0.3f, 0}));
  EXPECT_FALSE(trimmer.is_stray({0.5f, 0.5f, 0}));  // where the cameras look
  EXPECT_FALSE(trimmer.is_stray({4.5f, 0, 0}));     // behind all cameras: a background
  EXPECT_FALSE(trimmer.is_stray({-9, 1, 0}));
  // Cameras next to each other can confirm what is close to one of them.
  for (const float dx : {-0.2f, 0.2f, 0.1f}) {
    SceneView beside = scene.views[0];
    beside.camera.camera_from_world.translation.x += dx;
    beside.camera.camera_from_world.translation.z += 5;  // further away
    scene.views.push_back(beside);
  }
  EXPECT_FALSE(trimmer_of(scene).is_stray({3.5f, 0, 0.2f}));
}

TEST(Trim, WithoutPointsNothingIsKnownToBeTooNear) {
  Scene scene = ring_scene();
  scene.has_random_points = true;
  EXPECT_FALSE(trimmer_of(scene).is_stray({3.5f, 0, 0.2f}));
}

TEST(Trim, LimitsAGaussianToHalfOfThePicture) {
  const Trimmer trimmer = trimmer_of(ring_scene());
  EXPECT_NEAR(trimmer.largest_scale({0, 0, 0}), 2, 1e-4);  // 50 pixels at a depth of 4
  EXPECT_NEAR(trimmer.largest_scale({2, 0, 0}), 1, 1e-4);
  EXPECT_TRUE(std::isinf(trimmer.largest_scale({0, 0, 50})));
}

TEST(Trim, FadesStraysShrinksTheLargeAndLeavesTheRest) {
  const Trimmer trimmer = trimmer_of(ring_scene());
  DensityInput in;
  in.mean = {{0, 0, 0}, {3.5f, 0, 0.2f}, {0.1f, 0, 0}, {0, 0, 50}};
  in.log_scale = {{-3, -3, -3}, {-3, -3, -3}, {3, 0, -3}, {5, 5, 5}};
  in.rotation.assign(4, {1, 0, 0, 0});
  in.logit_opacity = {1, 1, 1, 1};
  trimmer.trim(in);
  EXPECT_EQ(in.logit_opacity[0], 1);
  EXPECT_LT(in.logit_opacity[1], -10);
  EXPECT_EQ(in.logit_opacity[2], 1);
  EXPECT_EQ(in.log_scale[0], Vec3f(-3, -3, -3));
  EXPECT_NEAR(in.log_scale[2].x, std::log(trimmer.largest_scale({0.1f, 0, 0})), 1e-5);
  EXPECT_EQ(in.log_scale[2].y, 0);
  EXPECT_EQ(in.log_scale[2].z, -3);
  EXPECT_EQ(in.log_scale[3], Vec3f(5, 5, 5));  // no camera sees it
}

}  // namespace
}  // namespace stipple
