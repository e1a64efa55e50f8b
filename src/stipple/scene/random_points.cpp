// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/random_points.h"

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/core/random.h"
#include "stipple/scene/layout.h"

namespace stipple {

namespace {

constexpr float kNearest = 0.2f, kFarthest = 2.0f;  // times the distance to what a camera looks at

// The distance at which a camera looks: that of the point on its axis nearest to the focus.
float focus_distance(const Camera& camera, Vec3f focus, float least) {
  return std::max(dot(focus - center_of(camera), axis_of(camera)), least);
}

}  // namespace

Points random_points(std::span<const SceneView> views, std::size_t count, std::uint64_t seed) {
  Points points;
  if (views.empty()) return points;
  const Vec3f focus = focus_of(views);
  const float least = 0.1f * camera_spread(views);
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    const Camera& camera = views[random.below(views.size())].camera;
    const float z = focus_distance(camera, focus, least) * random.uniform(kNearest, kFarthest);
    const float u = random.uniform() * static_cast<float>(camera.width_px);
    const float v = random.uniform() * static_cast<float>(camera.height_px);
    const Vec3f in_camera((u - camera.center_px.x) / camera.focal_px.x * z,
                          (v - camera.center_px.y) / camera.focal_px.y * z, z);
    const Vec3f offset = in_camera - camera.camera_from_world.translation;
    const Mat3f& r = camera.camera_from_world.rotation;
    points.position.push_back({dot(r[0], offset), dot(r[1], offset), dot(r[2], offset)});
    const auto grey = static_cast<std::uint8_t>(random.below(256));
    points.color.push_back({grey, grey, grey});
  }
  return points;
}

}  // namespace stipple
