// SPDX-License-Identifier: Apache-2.0
#pragma once
// Directions and rotations of cameras.
#include <array>
#include <span>

#include "stipple/scene/scene.h"

namespace stipple {

Vec3f normalized(Vec3f v);  // of length 1; zero stays zero

struct Axes {
  Vec3f right, up, back;  // unit, right-handed
};

// Photos are mostly upright, so the mean of what they have at their top is the scene's up; right is any
// direction across it.
Axes upright_axes(std::span<const SceneView> views);

// camera_from_world of a camera that stands upright: its y axis has no part along `up`, which must not be the
// direction of view.
RigidTransform look_at(Vec3f from, Vec3f to, Vec3f up);

// The quaternion (w, x, y, z), w >= 0, of a rotation.
std::array<double, 4> quaternion_from_rotation(const Mat3f& rotation);

}  // namespace stipple
