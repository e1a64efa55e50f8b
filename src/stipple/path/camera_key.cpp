// SPDX-License-Identifier: Apache-2.0
#include "stipple/path/camera_key.h"

#include <cmath>

#include "stipple/camera/pose.h"

namespace stipple {

namespace {

using Vec2d = Vec2<double>;
using Vec3d = Vec3<double>;
using Vec4d = Vec4<double>;

template <class V>
double length(V v) {
  return std::sqrt(dot(v, v));
}

Vec4d unit(Vec4d q) { return q * (1 / length(q)); }

}  // namespace

CameraKey key_of(const Camera& camera) {
  const Vec3f p = center_of(camera);
  const auto q = quaternion_from_rotation(camera.camera_from_world.rotation);
  return {{p.x, p.y, p.z},
          {q[0], q[1], q[2], q[3]},
          {std::log(camera.focal_px.x), std::log(camera.focal_px.y)},
          {camera.center_px.x, camera.center_px.y}};
}

Camera camera_of(const CameraKey& key, Camera camera) {
  const auto to_float = [](double v) { return static_cast<float>(v); };
  const Mat3<double> r = Math<double>::rotation_from_quaternion(key.rotation);
  const Vec3d t = -(r * key.position);
  for (int column = 0; column < 3; ++column)
    for (int row = 0; row < 3; ++row)
      camera.camera_from_world.rotation[column][row] = to_float(r[column][row]);
  camera.camera_from_world.translation = {to_float(t.x), to_float(t.y), to_float(t.z)};
  camera.focal_px = {to_float(std::exp(key.log_focal.x)), to_float(std::exp(key.log_focal.y))};
  camera.center_px = {to_float(key.center_px.x), to_float(key.center_px.y)};
  return camera;
}

CameraKey mix(const CameraKey& a, const CameraKey& b, double t) {
  const auto between = [t](auto x, auto y) { return x * (1 - t) + y * t; };
  return {between(a.position, b.position), between(a.rotation, b.rotation), between(a.log_focal, b.log_focal),
          between(a.center_px, b.center_px)};
}

Vec4d beside(Vec4d q, Vec4d other) { return dot(q, other) < 0 ? -q : q; }

double travel(const CameraKey& a, const CameraKey& b, double depth) {
  const Vec4d from = unit(a.rotation), to = unit(b.rotation);
  return length(b.position - a.position) / depth + 2 * length(beside(to, from) - from) +
         length(b.log_focal - a.log_focal);
}

}  // namespace stipple
