// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/random_points.h"

#include <algorithm>
#include <cmath>

#include "stipple/core/random.h"

namespace stipple {

namespace {

constexpr float kNearest = 0.2f, kFarthest = 2.0f;  // times the distance of what a camera looks at

using Vec3d = Vec3<double>;
Vec3d to_double(Vec3f v) { return {v.x, v.y, v.z}; }

// Solves a 3x3 system by Cramer's rule; columns a, b, c.
Vec3d solve(Vec3d a, Vec3d b, Vec3d c, Vec3d right) {
  const double det = dot(a, cross(b, c));
  return {dot(right, cross(b, c)) / det, dot(a, cross(right, c)) / det, dot(a, cross(b, right)) / det};
}

// How far away a camera looks: to the point on its axis nearest to the focus.
float focus_distance(const Camera& camera, Vec3f focus, float least) {
  return std::max(dot(focus - center_of(camera), axis_of(camera)), least);
}

float spread_of(std::span<const SceneView> views) {
  float widest = 0;
  for (const SceneView& v : views) {
    const Vec3f d = center_of(v.camera) - center_of(views[0].camera);
    widest = std::max(widest, std::sqrt(dot(d, d)));
  }
  return widest > 0 ? widest : 1.0f;
}

}  // namespace

Vec3f center_of(const Camera& camera) {
  const RigidTransform& c = camera.camera_from_world;
  return {-dot(c.rotation[0], c.translation), -dot(c.rotation[1], c.translation),
          -dot(c.rotation[2], c.translation)};
}

Vec3f axis_of(const Camera& camera) {
  const Mat3f& r = camera.camera_from_world.rotation;
  return {r[0].z, r[1].z, r[2].z};
}

Vec3f focus_of(std::span<const SceneView> views) {
  // sum over views of |(I - d d^T)(x - c)|^2 is least where sum (I - d d^T) x = sum (I - d d^T) c. A little
  // of "one spread ahead of each camera" is added for cameras that all look the same way.
  const double ahead = spread_of(views), weight = 1e-3;
  Vec3d column[3] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, right(0, 0, 0);
  for (const SceneView& v : views) {
    const Vec3d d = to_double(axis_of(v.camera)), c = to_double(center_of(v.camera));
    for (int k = 0; k < 3; ++k) {
      column[k][k] += 1 + weight;
      column[k] = column[k] - d * d[k];
    }
    right = right + c - d * dot(d, c) + (c + d * ahead) * weight;
  }
  const Vec3d x = solve(column[0], column[1], column[2], right);
  return {static_cast<float>(x.x), static_cast<float>(x.y), static_cast<float>(x.z)};
}

Points random_points(std::span<const SceneView> views, std::size_t count, std::uint64_t seed) {
  Points points;
  if (views.empty()) return points;
  const Vec3f focus = focus_of(views);
  const float least = 0.1f * spread_of(views);
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
