// SPDX-License-Identifier: Apache-2.0
#pragma once
// Directions and rotations of cameras.
#include <array>

#include "stipple/camera/camera.h"

namespace stipple {

Vec3f normalized(Vec3f v);  // of length 1; zero stays zero

// A camera's centre in the world, and the direction that it looks in.
Vec3f center_of(const Camera& camera);
Vec3f axis_of(const Camera& camera);

// camera_from_world of a camera that stands upright: its y axis has no part along `up`, which must not be the
// direction of view.
RigidTransform look_at(Vec3f from, Vec3f to, Vec3f up);

// The quaternion (w, x, y, z), w >= 0, of a rotation.
std::array<double, 4> quaternion_from_rotation(const Mat3f& rotation);

}  // namespace stipple
