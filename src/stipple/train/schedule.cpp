// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/schedule.h"

#include <algorithm>
#include <cmath>

namespace stipple {

namespace {

constexpr double kReferenceSteps = 30'000;
// Minimum number of steps between refinements. The statistics of fewer views say little, and growth would get
// out of hand.
constexpr int kLeastInterval = 50;
constexpr int kPruneLargeFrom = 3'000;   // of kReferenceSteps; before, large Gaussians may still be split
constexpr int kRefinementsPerSort = 10;  // in between, new Gaussians are stored next to their origin

}  // namespace

int Schedule::stretched(int step) const {
  return std::max(1, static_cast<int>(std::lround(step * (options_.steps / kReferenceSteps))));
}

int Schedule::last_step() const {
  return options_.stop_at > 0 ? std::min(options_.stop_at, options_.steps) : options_.steps;
}

int Schedule::sh_degree_at(int step) const {
  return std::min(options_.sh_degree, step / stretched(options_.sh_every));
}

bool Schedule::refines_at(int step) const {
  return step > stretched(options_.refine_from) && step < stretched(options_.refine_until) &&
         step % refine_interval() == 0;
}

bool Schedule::sorts_at(int step) const {
  const int refinement = step / refine_interval() - stretched(options_.refine_from) / refine_interval();
  return refines_at(step) && refinement % kRefinementsPerSort == 1;
}

int Schedule::refine_interval() const {
  return std::max(stretched(options_.refine_every), std::min(options_.refine_every, kLeastInterval));
}

bool Schedule::resets_opacity_at(int step) const {
  return options_.strategy == Strategy::kAdc && options_.reset_every > 0 &&
         step < stretched(options_.refine_until) && step % stretched(options_.reset_every) == 0;
}

bool Schedule::prunes_large_at(int step) const {
  return options_.prune_scale > 0 && step > stretched(kPruneLargeFrom);
}

float Schedule::mean_rate(int step) const {
  const double t = std::clamp(static_cast<double>(step) / options_.steps, 0.0, 1.0);
  const double rate = std::exp((1 - t) * std::log(static_cast<double>(options_.mean_rate)) +
                               t * std::log(static_cast<double>(options_.final_mean_rate)));
  return static_cast<float>(rate * static_cast<double>(extent_)) * batch_factor();
}

// One step over b views should go as far as b steps over one view. Since the gradients of the views differ,
// this needs learning rates that are sqrt(b) times as large, and moments that decay as much in one step as in
// b (beta^b). Malladi et al., "On the SDEs and Scaling Rules for Adaptive Gradient Algorithms", 2022.
float Schedule::batch_factor() const { return std::sqrt(static_cast<float>(options_.batch)); }

AdamOptions Schedule::rates(int step, int adam_step) const {
  AdamOptions a;
  a.mean = mean_rate(step);
  a.log_scale = options_.log_scale_rate * batch_factor();
  a.rotation = options_.rotation_rate * batch_factor();
  a.logit_opacity = options_.logit_opacity_rate * batch_factor();
  a.sh_base = options_.sh_base_rate * batch_factor();
  a.sh_rest = options_.sh_rest_rate * batch_factor();
  if (options_.batch > 1) {
    a.beta1 = std::pow(a.beta1, static_cast<float>(options_.batch));
    a.beta2 = std::pow(a.beta2, static_cast<float>(options_.batch));
  }
  a.step = adam_step;
  a.visible_only = options_.visible_only;
  return a;
}

}  // namespace stipple
