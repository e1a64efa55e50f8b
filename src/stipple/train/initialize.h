// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/core/gaussians.h"
#include "stipple/scene/scene.h"
#include "stipple/train/train_options.h"

namespace stipple {

// An isotropic Gaussian of SH degree 0 for every point, in its colour. Its scale is the root mean square
// distance to the three nearest neighbours. If there are more points than options.max_gaussians, a random
// sample of that size is used.
Gaussians initial_gaussians(const Points& points, const TrainOptions& options);

}  // namespace stipple
