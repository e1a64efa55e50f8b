// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/camera_frame.h"

#include <cmath>

namespace stipple {

namespace {

constexpr double kRotationTolerance = 1e-2;  // exporters print few digits
constexpr double kLeastScale = 1e-9, kFarthest = 1e18;

// The frame with axes of length 1; none if it is not rigid.
std::optional<CameraFrame> checked(CameraFrame frame) {
  Vec3<double>* axes[] = {&frame.right, &frame.down, &frame.forward};
  const double scale = std::sqrt(dot(frame.right, frame.right));
  if (!(scale > kLeastScale) || !std::isfinite(scale) || !is_near(frame.center)) return {};
  for (Vec3<double>* axis : axes) *axis = *axis * (1 / scale);  // some exporters scale the scene this way
  for (int i = 0; i < 3; ++i)
    for (int k = i; k < 3; ++k)
      if (!(std::abs(dot(*axes[i], *axes[k]) - (i == k ? 1 : 0)) < kRotationTolerance)) return {};
  if (!(dot(cross(frame.right, frame.down), frame.forward) > 0)) return {};  // a reflection
  return frame;
}

}  // namespace

bool is_near(Vec3<double> v) {
  return std::abs(v.x) < kFarthest && std::abs(v.y) < kFarthest && std::abs(v.z) < kFarthest;
}

std::optional<CameraFrame> frame_from_matrix(const Rows3x4& m, CameraAxes axes) {
  const auto column = [&](std::size_t c) { return Vec3<double>(m[0][c], m[1][c], m[2][c]); };
  const double sign = axes == CameraAxes::kOpenGl ? -1 : 1;
  return checked({column(0), column(1) * sign, column(2) * sign, column(3)});
}

std::optional<CameraFrame> frame_from_rotation(const Rows3x3& m, Vec3<double> center) {
  const auto row = [&](std::size_t r) { return Vec3<double>(m[r][0], m[r][1], m[r][2]); };
  return checked({row(0), row(1), row(2), center});
}

Rows3x3 rotation_about(Vec3<double> v) {
  const double angle = std::sqrt(dot(v, v));
  // R = cos I + sin/angle [v]x + (1 - cos)/angle^2 v v^T, with the limits of both fractions at 0.
  const double c = std::cos(angle), s = angle > 1e-9 ? std::sin(angle) / angle : 1.0;
  const double d = angle > 1e-9 ? (1 - c) / (angle * angle) : 0.5;
  return {{{c + d * v.x * v.x, d * v.x * v.y - s * v.z, d * v.x * v.z + s * v.y},
           {d * v.y * v.x + s * v.z, c + d * v.y * v.y, d * v.y * v.z - s * v.x},
           {d * v.z * v.x - s * v.y, d * v.z * v.y + s * v.x, c + d * v.z * v.z}}};
}

RigidTransform camera_from_world(const CameraFrame& frame) {
  RigidTransform t;
  const Vec3<double> axes[] = {frame.right, frame.down, frame.forward};
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column)
      t.rotation[column][row] = static_cast<float>(axes[row][column]);
    t.translation[row] = static_cast<float>(-dot(axes[row], frame.center));
  }
  return t;
}

CameraFrame frame_of(const RigidTransform& t) {
  const auto axis = [&](int row) {
    return Vec3<double>(t.rotation[0][row], t.rotation[1][row], t.rotation[2][row]);
  };
  const CameraFrame frame{axis(0), axis(1), axis(2), {0, 0, 0}};
  const Vec3<double> center = frame.right * -static_cast<double>(t.translation.x) -
                              frame.down * static_cast<double>(t.translation.y) -
                              frame.forward * static_cast<double>(t.translation.z);
  return {frame.right, frame.down, frame.forward, center};
}

}  // namespace stipple
