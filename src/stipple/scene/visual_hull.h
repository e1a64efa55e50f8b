// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "stipple/scene/scene.h"

namespace stipple {

// Start points for a cut-out object without points: on the surface of its visual hull, the part of space that
// is not transparent in any photo, in the colours of the photos. Decodes a sample of the photos at a reduced
// size, whatever their SceneView::alpha says. Returns up to `count` points, and none if the photos'
// silhouettes have no common hull. The result does not depend on the number of threads.
Points carve_points(std::span<const SceneView> views, std::size_t count, std::uint64_t seed);

}  // namespace stipple
