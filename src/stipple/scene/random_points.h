// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "stipple/scene/scene.h"

namespace stipple {

// Random points in view of the cameras, for data without points: from close to a camera to twice as far away
// as what it looks at, with random grey values. They are denser where many
// cameras look. The result does not depend on the number of threads.
Points random_points(std::span<const SceneView> views, std::size_t count, std::uint64_t seed);

}  // namespace stipple
