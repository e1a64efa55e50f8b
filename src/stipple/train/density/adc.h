// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adaptive density control. Kerbl et al., "3D Gaussian Splatting for Real-Time Radiance Field Rendering",
// 2023.
#include "stipple/core/random.h"
#include "stipple/ranks/ranks.h"
#include "stipple/train/density/density_plan.h"
#include "stipple/train/train_options.h"

namespace stipple {

// A large mean screen-space gradient is a sign of too few Gaussians in that place: a small Gaussian is then
// cloned, and a large one split in two. Gaussians that are too faint are pruned, and with prune_large those
// that are too large as well. If max_gaussians leaves no room for all candidates, those with the largest
// gradients grow.
DensityPlan plan_adc(const DensityInput& input, const TrainOptions& options, float extent, bool prune_large,
                     bool may_grow, Random& random, Ranks& ranks = one_rank());

// Limits all opacities to options.reset_opacity and clears their moments. Floaters then fade away, unless the
// photos bring them back.
void reset_opacities(Backend& backend, const TrainOptions& options, DeviceGaussians& gaussians,
                     AdamMoments& moments);

}  // namespace stipple
