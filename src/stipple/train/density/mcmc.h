// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kheradmand et al., "3D Gaussian Splatting as Markov Chain Monte Carlo", 2024.
#include "stipple/core/random.h"
#include "stipple/train/density/density_plan.h"
#include "stipple/train/train_options.h"

namespace stipple {

// Relocates Gaussians that are too faint to the positions of others, which are drawn with probabilities
// proportional to their opacities. In the same way, new Gaussians are added: the total grows by the
// factor options.growth, up to options.max_gaussians. Gaussians at the same position share its opacity, so
// that the rendered image stays nearly the same.
DensityPlan plan_mcmc(const DensityInput& input, const TrainOptions& options, Random& random);

// One of n equal Gaussians that replace a single one, chosen so that together they look like it.
struct Share {
  float opacity, scale_factor;
};
Share share_of(float opacity, int n);

}  // namespace stipple
