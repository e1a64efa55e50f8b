// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "stipple/backend/pass.h"
#include "stipple/scene/scene.h"

namespace stipple {

// The depth at which what a camera sees begins, in scene units: that of the nearest points of the scene,
// apart from a few, or of the nearest Gaussians if the scene has hardly any points there. The splats are
// those of this camera, with the area in which each is seen.
float near_depth(const Scene& scene, const Camera& camera, std::span<const ProjectedSplat> splats,
                 std::span<const float> area_px);

}  // namespace stipple
