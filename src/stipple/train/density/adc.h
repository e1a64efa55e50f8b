// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adaptive density control. Kerbl et al., "3D Gaussian Splatting for Real-Time Radiance Field Rendering",
// 2023.
#include "stipple/core/random.h"
#include "stipple/train/density/density_plan.h"
#include "stipple/train/train_options.h"

namespace stipple {

// Where the picture wants to move a Gaussian much (a large mean gradient) there are too few: a small one is
// cloned, a large one split in two. Faint ones are pruned and, when asked for, huge ones. A cap keeps the
// candidates with the largest gradients.
DensityPlan plan_adc(const DensityInput& input, const TrainOptions& options, float extent, bool prune_large,
                     Random& random);

// All opacities at most options.reset_opacity, with new moments: floaters then fade unless the photos bring
// them back.
void reset_opacities(Backend& backend, const TrainOptions& options, DeviceGaussians& gaussians,
                     AdamMoments& moments);

}  // namespace stipple
