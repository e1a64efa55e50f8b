// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the cameras of a scene are and where they look.
#include <span>

#include "stipple/scene/scene.h"

namespace stipple {

struct Axes {
  Vec3f right, up, back;  // unit, right-handed
};

// Most photos are upright, so the mean of their up directions is the scene's up; right is an arbitrary
// direction perpendicular to it.
Axes upright_axes(std::span<const SceneView> views);

// The centre of what the cameras look at: the point with the least squared distance to their optical axes.
Vec3f focus_of(std::span<const SceneView> views);

// The z, in a camera's frame, of the point on its axis that is nearest to the focus; at least `least`.
float focus_z(const Camera& camera, Vec3f focus, float least);

// The largest distance of a camera from the first one; 1 if all are in the same place.
float camera_spread(std::span<const SceneView> views);

// The scene extent: 1.1 times the largest distance of a camera from the mean of all cameras; 1 if that is 0.
float scene_extent(const Scene& scene, std::span<const std::size_t> views);

}  // namespace stipple
