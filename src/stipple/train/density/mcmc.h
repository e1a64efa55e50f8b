// SPDX-License-Identifier: Apache-2.0
#pragma once
// Kheradmand et al., "3D Gaussian Splatting as Markov Chain Monte Carlo", 2024.
#include "stipple/core/random.h"
#include "stipple/ranks/ranks.h"
#include "stipple/train/density/density_plan.h"
#include "stipple/train/train_options.h"

namespace stipple {

// What the schedule decides about a refinement.
struct McmcStep {
  float grow_gradient;   // the mean screen-space gradient from which on a Gaussian is strained
  bool may_grow = true;  // false: only relocate
  bool splits = false;   // place the copies beside one another instead of in the same place
};

// Relocates Gaussians that are too faint to others, their parents, and adds new Gaussians in the same way.
//
// Unlike in the paper, parents are drawn, by opacity, from the strained Gaussians, and one Gaussian is added
// for each of these, up to options.max_gaussians and the factor options.growth. So the model grows where
// photos ask for detail and stops by itself. Parents drawn from all Gaussians put most of the new ones where
// the model is opaque already; in scenes with large blank surfaces this replaced the walls by small Gaussians
// faster than training could repair them, and the model collapsed.
//
// A parent and its copies share its opacity, in one of two ways. In the same place (share_of), the rendered
// image stays nearly the same, and only gradients on which the photos agree, and the noise, drive the copies
// apart: slow, but the model generalises best. Along the parent's longest axis (slice_of), the copies cover
// different pixels at once, which is what a coarse model needs.
DensityPlan plan_mcmc(const DensityInput& input, const TrainOptions& options, const McmcStep& step,
                      Random& random, Ranks& ranks = one_rank());

// One of n equal Gaussians in the same place that replace a single one, chosen so that together they look
// like it.
struct Share {
  float opacity, scale_factor;
};
Share share_of(float opacity, int n);

// One of n > 1 equal Gaussians that replace a single one along its longest axis. Together they have its
// variance on that axis and its opacity times its length.
struct Slice {
  float opacity, scale_factor;  // the factor applies to the longest axis
  float spacing;                // of their centres, in standard deviations of the original
};
Slice slice_of(float opacity, int n);

}  // namespace stipple
