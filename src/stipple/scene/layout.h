// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the cameras of a scene stand and look.
#include <span>

#include "stipple/scene/scene.h"

namespace stipple {

struct Axes {
  Vec3f right, up, back;  // unit, right-handed
};

// Photos are mostly upright, so the mean of what they have at their top is the scene's up; right is any
// direction across it.
Axes upright_axes(std::span<const SceneView> views);

// The middle of what the cameras look at: the point nearest to all of their axes.
Vec3f focus_of(std::span<const SceneView> views);

// The largest distance of a camera from the first one; 1 if they all stand in one place.
float camera_spread(std::span<const SceneView> views);

// The size of a scene: 1.1 times the largest distance of a camera from the middle of all of them.
float scene_extent(const Scene& scene, std::span<const std::size_t> views);

}  // namespace stipple
