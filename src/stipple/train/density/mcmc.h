// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kheradmand et al., "3D Gaussian Splatting as Markov Chain Monte Carlo", 2024.
#include "stipple/core/random.h"
#include "stipple/train/density/density_plan.h"
#include "stipple/train/train_options.h"

namespace stipple {

// Relocates Gaussians that are too faint to the positions of others, their parents, and adds new Gaussians in
// the same way. Gaussians at the same position share its opacity, so that the rendered image stays nearly the
// same.
//
// Unlike in the paper, parents are drawn, by opacity, from those whose mean screen-space gradient is at least
// `grow_gradient`, and one Gaussian is added for each of these, up to options.max_gaussians and the factor
// options.growth. So the model grows where photos ask for detail and stops by itself. Parents drawn from all
// Gaussians put most of the new ones where the model is opaque already; in scenes with large blank surfaces
// this replaced the walls by small Gaussians faster than training could repair them, and the model collapsed.
DensityPlan plan_mcmc(const DensityInput& input, const TrainOptions& options, float grow_gradient,
                      bool may_grow, Random& random);

// One of n equal Gaussians that replace a single one, chosen so that together they look like it.
struct Share {
  float opacity, scale_factor;
};
Share share_of(float opacity, int n);

}  // namespace stipple
