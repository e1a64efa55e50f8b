// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions, directions and rotations of cameras.
#include <array>

#include "stipple/camera/camera.h"

namespace stipple {

Vec3f normalized(Vec3f v);  // to length 1; a zero vector stays zero

// A camera's centre and viewing direction, in the world frame.
Vec3f center_of(const Camera& camera);
Vec3f axis_of(const Camera& camera);

// camera_from_world of an upright camera: its x axis is perpendicular to `up`, which must not be parallel to
// the viewing direction.
RigidTransform look_at(Vec3f from, Vec3f to, Vec3f up);

// The quaternion (w, x, y, z) of a rotation, with w >= 0.
std::array<double, 4> quaternion_from_rotation(const Mat3f& rotation);

}  // namespace stipple
