// SPDX-License-Identifier: Apache-2.0
#pragma once
// Positions, directions and rotations of cameras.
#include <array>
#include <optional>

#include "stipple/camera/camera.h"

namespace stipple {

Vec3f normalized(Vec3f v);  // to length 1; a zero vector stays zero

// A camera's centre and viewing direction, in the world frame.
Vec3f center_of(const Camera& camera);
Vec3f axis_of(const Camera& camera);

// Where the camera sees a point: x and y in pixels, z in the camera's frame. Nothing if the point is behind
// the camera or outside the image.
std::optional<Vec3f> project_point(const Camera& camera, Vec3f point);

// The point at this pixel whose z in the camera's frame is `z`.
Vec3f point_at(const Camera& camera, Vec2f pixel, float z);

// camera_from_world of an upright camera: its x axis is perpendicular to `up`, which must not be parallel to
// the viewing direction.
RigidTransform look_at(Vec3f from, Vec3f to, Vec3f up);

// The quaternion (w, x, y, z) of a rotation, with w >= 0.
std::array<double, 4> quaternion_from_rotation(const Mat3<double>& rotation);
std::array<double, 4> quaternion_from_rotation(const Mat3f& rotation);

}  // namespace stipple
