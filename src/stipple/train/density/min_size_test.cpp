// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/min_size.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stipple/camera/pose.h"
#include "stipple/core/random.h"
#include "tests/helpers/all_views.h"

namespace stipple {
namespace {

constexpr float kNearPlane = 0.2f;

// Cameras of different focal lengths at random places around the origin, all looking at it.
Scene scattered_cameras(int count) {
  Scene scene;
  Random random(70);
  for (int i = 0; i < count; ++i) {
    SceneView view;
    view.camera.width_px = 80 + 10 * i;
    view.camera.height_px = 60;
    view.camera.focal_px = {70 + 3.0f * static_cast<float>(i), 75};
    view.camera.center_px = {35, 33};
    const Vec3f from(random.uniform(-4, 4), random.uniform(-4, 4), random.uniform(-4, 4));
    view.camera.camera_from_world = look_at(from, {0, 0, 0}, {0.1f, 0.2f, 1});
    scene.views.push_back(view);
  }
  return scene;
}

// From the definition.
float expected_size(const Scene& scene, Vec3f mean, float pixels) {
  float least = std::numeric_limits<float>::infinity();
  for (const SceneView& view : scene.views)
    if (const auto seen = project_point(view.camera, mean); seen && seen->z > kNearPlane)
      least = std::min(least, seen->z / std::max(view.camera.focal_px.x, view.camera.focal_px.y));
  return std::isinf(least) ? 0 : pixels * least;
}

TEST(MinSize, IsThatOfTheViewThatSeesTheMeanLargest) {
  const Scene scene = scattered_cameras(20);
  const MinSize min_size(scene, all_views(scene), 0.5f, kNearPlane);
  Random random(71);
  std::vector<Vec3f> means(20'000);
  for (Vec3f& m : means) m = {random.uniform(-6, 6), random.uniform(-6, 6), random.uniform(-6, 6)};
  const std::vector<float> sizes = min_size.at(means);
  int seen = 0;
  for (std::size_t i = 0; i < means.size(); ++i) {
    const float expected = expected_size(scene, means[i], 0.5f);
    ASSERT_NEAR(sizes[i], expected, 1e-5f * expected) << i;
    ASSERT_EQ(min_size.at(means[i]), sizes[i]) << i;
    seen += expected > 0;
  }
  EXPECT_GT(seen, 10'000);
  EXPECT_LT(seen, 20'000);
}

TEST(MinSize, IsZeroForWhatNoGivenViewShows) {
  Scene scene = scattered_cameras(1);
  Camera& camera = scene.views[0].camera;
  const MinSize min_size(scene, all_views(scene), 1, kNearPlane);
  EXPECT_NEAR(min_size.at(point_at(camera, {40, 30}, 2)), 2 / 75.0f, 1e-6f);
  EXPECT_EQ(min_size.at(point_at(camera, {40, 30}, 0.1f)), 0);  // nearer than the near plane
  EXPECT_EQ(min_size.at(point_at(camera, {40, 30}, -2)), 0);
  EXPECT_EQ(min_size.at(point_at(camera, {90, 30}, 2)), 0);  // beside the picture
  EXPECT_EQ(MinSize(scene, {}, 1, kNearPlane).at(point_at(camera, {40, 30}, 2)), 0);
  EXPECT_EQ(MinSize(scene, all_views(scene), 0, kNearPlane).at(point_at(camera, {40, 30}, 2)), 0);
}

}  // namespace
}  // namespace stipple
