// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/core/gaussians.h"
#include "stipple/scene/scene.h"
#include "stipple/train/train_options.h"

namespace stipple {

// A round Gaussian at every point, in its colour, as large as the distance of its three nearest neighbours.
// Where there are more points than options.max_gaussians, at so many of them, drawn by the seed. Degree 0:
// view dependence comes later.
Gaussians initial_gaussians(const Points& points, const TrainOptions& options);

}  // namespace stipple
