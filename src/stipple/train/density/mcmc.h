// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kheradmand et al., "3D Gaussian Splatting as Markov Chain Monte Carlo", 2024.
#include "stipple/core/random.h"
#include "stipple/train/density/density_plan.h"
#include "stipple/train/train_options.h"

namespace stipple {

// Faint Gaussians move to where others are, drawn by opacity, and the number grows by a factor up to the cap
// in the same way. Those that share a place share its opacity, so that the picture stays as it was.
DensityPlan plan_mcmc(const DensityInput& input, const TrainOptions& options, Random& random);

// One of n Gaussians in the place of one, so that all n together look like it.
struct Share {
  float opacity, scale_factor;
};
Share share_of(float opacity, int n);

}  // namespace stipple
