// SPDX-License-Identifier: Apache-2.0
#pragma once
// Poses of cameras as the files of other programs give them: in double, because georeferenced coordinates
// exceed the precision of float.
#include <array>
#include <optional>

#include "stipple/camera/camera.h"

namespace stipple {

using Rows3x3 = std::array<std::array<double, 3>, 3>;
using Rows3x4 = std::array<std::array<double, 4>, 3>;

struct CameraFrame {                  // a camera in the world
  Vec3<double> right, down, forward;  // its axes: unit, right-handed
  Vec3<double> center;
};

// Whether a position can be computed with in float, too. One with NaN cannot.
bool is_near(Vec3<double> v);

enum class CameraAxes {
  kOpenCv,  // x right, y down, z forward
  kOpenGl,  // x right, y up, z backward
};

// From a world_from_camera matrix, which may be scaled as a whole. None if it is not a rigid transform or not
// finite.
std::optional<CameraFrame> frame_from_matrix(const Rows3x4& world_from_camera, CameraAxes axes);

// From the rotation of camera_from_world, with OpenCV's axes, and the camera's centre.
std::optional<CameraFrame> frame_from_rotation(const Rows3x3& camera_from_world, Vec3<double> center);

// The rotation about an axis by an angle in radians: the length of `axis_angle`.
Rows3x3 rotation_about(Vec3<double> axis_angle);

RigidTransform camera_from_world(const CameraFrame& frame);

// The inverse.
CameraFrame frame_of(const RigidTransform& camera_from_world);

}  // namespace stipple
