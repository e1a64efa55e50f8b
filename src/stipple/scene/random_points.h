// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "stipple/scene/scene.h"

namespace stipple {

// Points at random in what the cameras see, from near them to twice as far away as what they look at; grey of
// any brightness. For data that has none.
Points random_points(std::span<const SceneView> views, std::size_t count, std::uint64_t seed);

// The middle of what the cameras look at: the point nearest to all of their axes.
Vec3f focus_of(std::span<const SceneView> views);

// A camera's centre in the world, and the direction that it looks in.
Vec3f center_of(const Camera& camera);
Vec3f axis_of(const Camera& camera);

}  // namespace stipple
