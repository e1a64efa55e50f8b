// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/schedule.h"

#include <algorithm>
#include <cmath>

namespace stipple {

namespace {

constexpr double kReferenceSteps = 30'000;
constexpr int kLeastInterval =
    50;  // between refinements: fewer views than that say little, and growth runs away
constexpr int kPruneLargeFrom = 3'000;   // of as many; before, large ones may still be split
constexpr int kRefinementsPerSort = 10;  // in between, what is new stands beside what it came from

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

// A step over b views is to go as far as b steps over one would: their gradients differ, so that takes a rate
// that is sqrt(b) times as large, and averages that forget as much in one step as in b. Malladi et al., "On
// the SDEs and Scaling Rules for Adaptive Gradient Algorithms", 2022.
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
