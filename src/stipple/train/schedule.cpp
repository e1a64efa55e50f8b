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
constexpr int kCheckEvery = 500;
constexpr int kLeastCheckInterval = 100;
constexpr double kWatchedShare = 0.8;  // of a run; in the rest, the watched views are trained on
constexpr int kLimitSizesEvery = 2'000;
constexpr int kPolishSteps = 1'500;
constexpr int kLeastPolishSteps = 400;  // in shorter ones, brightness would follow the last photos seen
constexpr float kLastRate = 0.1f;       // relative to the rate before the last part of a run
constexpr int kFullThresholdAt = 7'500;
constexpr float kFirstThreshold = 0.3f;  // relative to the full one
constexpr int kSplitsUntil = 1'500;
constexpr int kPruneLargeFrom = 3'000;  // of kReferenceSteps; before, large Gaussians may still be split
constexpr std::size_t kFewViews = 12;
constexpr float kFewViewsDropout = 0.2f;
constexpr int kRefinementsPerSort = 10;  // in between, new Gaussians are stored next to their origin

}  // namespace

int Schedule::stretched(int step) const {
  return std::max(1, static_cast<int>(std::lround(step * (options_.steps / kReferenceSteps))));
}

double Schedule::progress(int step) const {
  return std::clamp(static_cast<double>(step) / options_.steps, 0.0, 1.0);
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

bool Schedule::limits_sizes_at(int step) const {
  return step % std::max(stretched(kLimitSizesEvery), kLeastCheckInterval) == 0;
}

bool Schedule::resets_opacity_at(int step) const {
  return options_.strategy == Strategy::kAdc && options_.reset_every > 0 &&
         step < stretched(options_.refine_until) && step % stretched(options_.reset_every) == 0;
}

bool Schedule::prunes_large_at(int step) const {
  return options_.prune_scale > 0 && step > stretched(kPruneLargeFrom);
}

// The threshold rises in the first part of a run: the initial Gaussians are few and must multiply fast, while
// late growth adds detail that other views do not confirm.
float Schedule::grow_gradient(int step) const {
  const float t = std::min(1.0f, static_cast<float>(step) / static_cast<float>(stretched(kFullThresholdAt)));
  return options_.grow_gradient * (kFirstThreshold + (1 - kFirstThreshold) * t);
}

bool Schedule::splits_at(int step) const { return step <= stretched(kSplitsUntil); }

bool Schedule::grows_after(int step) const { return step < stretched(options_.refine_until); }

// After an opacity reset, the scores of a model say nothing until the opacities have recovered.
bool Schedule::checks_at(int step) const {
  const int interval = std::max(stretched(kCheckEvery), kLeastCheckInterval);
  if (step % interval != 0) return false;
  if (options_.strategy != Strategy::kAdc || options_.reset_every == 0) return true;
  const int reset = stretched(options_.reset_every);
  return step < reset || step > stretched(options_.refine_until) + reset || step % reset > reset * 3 / 4;
}

int Schedule::gives_views_back_at() const {
  return static_cast<int>(std::lround(options_.steps * kWatchedShare));
}

int Schedule::polish_steps() const { return std::max(stretched(kPolishSteps), kLeastPolishSteps); }

// It rises because the first Gaussians are few, and over-fitting comes late.
float Schedule::dropout(int step, std::size_t view_count) const {
  const float last = options_.dropout.value_or(view_count < kFewViews ? kFewViewsDropout : 0);
  return last * static_cast<float>(step) / static_cast<float>(options_.steps);
}

float Schedule::mean_rate(int step) const {
  const double t = progress(step);
  const double rate = std::exp((1 - t) * std::log(static_cast<double>(options_.mean_rate)) +
                               t * std::log(static_cast<double>(options_.final_mean_rate)));
  return static_cast<float>(rate * static_cast<double>(extent_)) * batch_factor();
}

float Schedule::late_rate_factor(float done) { return std::pow(kLastRate, done); }

float Schedule::rate_factor(int step) const {
  const int begin = gives_views_back_at();
  if (step <= begin) return 1;
  return late_rate_factor(static_cast<float>(step - begin) / static_cast<float>(options_.steps - begin));
}

float Schedule::depth_weight(int step) const {
  if (step % options_.depth_every != 0) return 0;
  return options_.depth_weight * static_cast<float>(options_.depth_every) *
         static_cast<float>(std::pow(static_cast<double>(options_.depth_decay), progress(step)));
}

float Schedule::noise(int step) const {
  const float decay = mean_rate(step) / (options_.mean_rate * extent_);
  return options_.noise * decay / extent_;
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
