// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "stipple/scene/scene.h"

namespace stipple {

// Points at random in what the cameras see, from near them to twice as far away as what they look at; grey of
// any brightness. For data that has none.
Points random_points(std::span<const SceneView> views, std::size_t count, std::uint64_t seed);

}  // namespace stipple
