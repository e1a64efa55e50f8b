// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/guard.h"

#include <algorithm>
#include <utility>

#include "stipple/core/spread.h"

namespace stipple {

namespace {

constexpr std::size_t kLeastViews = 24;  // with fewer, every view is needed for training
constexpr std::size_t kViewsPerWatched = 10, kLeastWatched = 3, kMostWatched = 8;

constexpr double kWorse = 0.1;         // dB; smaller differences are noise
constexpr int kPatience = 3;           // scores in a row that must be worse
constexpr double kCollapse = 4;        // dB, of the training steps
constexpr std::size_t kFewerLeft = 3;  // a model that shrinks by this factor has collapsed, too

}  // namespace

void Guard::add_training_step(double psnr) {
  double& mean = state_.training_psnr;
  mean = mean == 0 ? psnr : mean + share_ * (psnr - mean);
}

// Written so that a score that is not a number counts as collapsed.
bool Guard::has_collapsed(const ModelScore& score) const {
  if (state_.best_step == 0) return false;
  return !(state_.training_psnr > state_.best_training_psnr - kCollapse) ||
         score.gaussian_count < state_.best_count / kFewerLeft;
}

Verdict Guard::keep(const ModelScore& score) {
  state_.best_step = score.step;
  state_.best_psnr = score.psnr;
  state_.best_count = score.gaussian_count;
  state_.worse_in_a_row = 0;
  return Verdict::kKeep;
}

Verdict Guard::collapse() {
  ++state_.collapses;
  state_.may_grow = false;
  state_.worse_in_a_row = 0;
  state_.training_psnr = 0;  // it was that of the model that is given up
  return Verdict::kRecover;
}

Verdict Guard::judge(const ModelScore& score) {
  if (has_collapsed(score)) return collapse();
  state_.best_training_psnr = std::max(state_.best_training_psnr, state_.training_psnr);
  if (state_.best_step == 0 || score.psnr >= state_.best_psnr) return keep(score);
  const bool is_worse = !(score.psnr > state_.best_psnr - kWorse);
  // Training steps tell a collapse, but not whether other views get worse.
  if (!score.is_watched) return is_worse ? Verdict::kGoOn : keep(score);
  state_.worse_in_a_row = is_worse ? state_.worse_in_a_row + 1 : 0;
  if (state_.worse_in_a_row < kPatience) return Verdict::kGoOn;
  state_.worse_in_a_row = 0;
  return std::exchange(state_.may_grow, false) ? Verdict::kStopGrowth : Verdict::kEnd;
}

std::vector<std::size_t> choose_watched(std::span<const std::size_t> training_views) {
  const std::size_t n = training_views.size();
  if (n < kLeastViews) return {};
  return spread(training_views, std::clamp(n / kViewsPerWatched, kLeastWatched, kMostWatched));
}

}  // namespace stipple
