// SPDX-License-Identifier: Apache-2.0
#include "stipple/camera/pose.h"

#include <cmath>

namespace stipple {

Vec3f normalized(Vec3f v) {
  const float length = std::sqrt(dot(v, v));
  return length > 0 ? v * (1 / length) : Vec3f(0, 0, 0);
}

Vec3f center_of(const Camera& camera) {
  const RigidTransform& c = camera.camera_from_world;
  return {-dot(c.rotation[0], c.translation), -dot(c.rotation[1], c.translation),
          -dot(c.rotation[2], c.translation)};
}

Vec3f axis_of(const Camera& camera) {
  const Mat3f& r = camera.camera_from_world.rotation;
  return {r[0].z, r[1].z, r[2].z};
}

std::optional<Vec3f> project_point(const Camera& camera, Vec3f point) {
  const Vec3f p = camera.camera_from_world.rotation * point + camera.camera_from_world.translation;
  if (!(p.z > 0)) return {};
  const Vec2f at = camera.focal_px * Vec2f(p.x / p.z, p.y / p.z) + camera.center_px;
  const bool is_inside = 0 <= at.x && at.x < static_cast<float>(camera.width_px) && 0 <= at.y &&
                         at.y < static_cast<float>(camera.height_px);
  return is_inside ? std::optional(Vec3f(at.x, at.y, p.z)) : std::nullopt;
}

Vec3f point_at(const Camera& camera, Vec2f pixel, float z) {
  const Vec3f in_camera((pixel.x - camera.center_px.x) / camera.focal_px.x * z,
                        (pixel.y - camera.center_px.y) / camera.focal_px.y * z, z);
  const Vec3f offset = in_camera - camera.camera_from_world.translation;
  const Mat3f& r = camera.camera_from_world.rotation;
  return {dot(r[0], offset), dot(r[1], offset), dot(r[2], offset)};
}

RigidTransform look_at(Vec3f from, Vec3f to, Vec3f up) {
  const Vec3f forward = normalized(to - from);
  const Vec3f right = normalized(cross(forward, up));
  const Mat3f rotation = transpose(Mat3f(right, cross(forward, right), forward));
  return {rotation, -(rotation * from)};
}

// Divides by the largest of the four components, which keeps rounding errors small.
std::array<double, 4> quaternion_from_rotation(const Mat3<double>& m) {
  const auto r = [&m](int row, int column) { return m[column][row]; };
  const double squares[4] = {1 + r(0, 0) + r(1, 1) + r(2, 2), 1 + r(0, 0) - r(1, 1) - r(2, 2),
                             1 - r(0, 0) + r(1, 1) - r(2, 2), 1 - r(0, 0) - r(1, 1) + r(2, 2)};
  const double products[4][4] = {{0, r(2, 1) - r(1, 2), r(0, 2) - r(2, 0), r(1, 0) - r(0, 1)},
                                 {r(2, 1) - r(1, 2), 0, r(1, 0) + r(0, 1), r(0, 2) + r(2, 0)},
                                 {r(0, 2) - r(2, 0), r(1, 0) + r(0, 1), 0, r(2, 1) + r(1, 2)},
                                 {r(1, 0) - r(0, 1), r(0, 2) + r(2, 0), r(2, 1) + r(1, 2), 0}};
  int largest = 0;
  for (int i = 1; i < 4; ++i)
    if (squares[i] > squares[largest]) largest = i;
  const double twice = std::sqrt(squares[largest]);  // twice the largest component
  std::array<double, 4> q;
  for (int i = 0; i < 4; ++i) q[i] = i == largest ? twice / 2 : products[largest][i] / (2 * twice);
  if (q[0] < 0)
    for (double& v : q) v = -v;
  return q;
}

std::array<double, 4> quaternion_from_rotation(const Mat3f& m) {
  const auto column = [&m](int i) { return Vec3<double>(m[i].x, m[i].y, m[i].z); };
  return quaternion_from_rotation(Mat3<double>(column(0), column(1), column(2)));
}

}  // namespace stipple
