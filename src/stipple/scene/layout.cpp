// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/layout.h"

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"

namespace stipple {

namespace {

using Vec3d = Vec3<double>;
Vec3d to_double(Vec3f v) { return {v.x, v.y, v.z}; }

// Solves the 3x3 system with the columns a, b and c by Cramer's rule.
Vec3d solve(Vec3d a, Vec3d b, Vec3d c, Vec3d right) {
  const double det = dot(a, cross(b, c));
  return {dot(right, cross(b, c)) / det, dot(a, cross(right, c)) / det, dot(a, cross(b, right)) / det};
}

}  // namespace

float camera_spread(std::span<const SceneView> views) {
  float widest = 0;
  for (const SceneView& v : views) {
    const Vec3f d = center_of(v.camera) - center_of(views[0].camera);
    widest = std::max(widest, std::sqrt(dot(d, d)));
  }
  return widest > 0 ? widest : 1.0f;
}

Axes upright_axes(std::span<const SceneView> views) {
  Vec3f up(0, 0, 0);
  for (const SceneView& v : views) {
    const Mat3f& r = v.camera.camera_from_world.rotation;
    up = up - Vec3f(r[0].y, r[1].y, r[2].y);
  }
  up = normalized(up);
  if (dot(up, up) == 0) up = {0, 1, 0};
  const Vec3f other = std::abs(up.x) < 0.8f ? Vec3f(1, 0, 0) : Vec3f(0, 0, 1);
  const Vec3f right = normalized(cross(up, other));
  return {right, up, cross(right, up)};
}

Vec3f focus_of(std::span<const SceneView> views) {
  // The sum over views of |(I - d d^T)(x - c)|^2 is minimal where sum (I - d d^T) x = sum (I - d d^T) c. For
  // cameras that all look the same way, the point one spread ahead of each is added with a small weight.
  const double ahead = camera_spread(views), weight = 1e-3;
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

float focus_z(const Camera& camera, Vec3f focus, float least) {
  return std::max(dot(focus - center_of(camera), axis_of(camera)), least);
}

float scene_extent(const Scene& scene, std::span<const std::size_t> views) {
  Vec3f middle(0, 0, 0);
  for (std::size_t v : views)
    middle = middle + center_of(scene.views[v].camera) * (1 / static_cast<float>(views.size()));
  float largest = 0;
  for (std::size_t v : views) {
    const Vec3f d = center_of(scene.views[v].camera) - middle;
    largest = std::max(largest, std::sqrt(dot(d, d)));
  }
  return largest > 0 ? 1.1f * largest : 1.0f;
}

}  // namespace stipple
