// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/guard.h"

#include <algorithm>
#include <cmath>

#include "stipple/core/spread.h"

namespace stipple {

namespace {

constexpr std::size_t kLeastViews = 24;  // with fewer, every view is needed for training
constexpr std::size_t kViewsPerWatched = 10, kLeastWatched = 3, kMostWatched = 12;

constexpr double kWorse = 0.1;      // dB; smaller differences are noise
constexpr int kPatience = 3;        // scores in a row that must be worse
constexpr double kCollapse = 4;     // dB, of the training steps
constexpr double kDecline = 1;      // dB; with as much, a model that has shrunk has collapsed, too:
constexpr std::size_t kShrunk = 3;  // to less than a third
constexpr int kMostCollapses = 3;

}  // namespace

void Guard::add_training_step(double psnr) {
  const double share = std::max(share_, 1.0 / ++state_.training_steps);
  state_.training_psnr += share * (psnr - state_.training_psnr);
}

// Written so that a mean that is not a number counts as collapsed.
bool Guard::has_collapsed(const ModelScore& score) const {
  const auto has_fallen_by = [&](double difference) {
    return !(state_.training_psnr > state_.best_training_psnr - difference);
  };
  const bool has_shrunk = score.gaussian_count < state_.best_count / kShrunk;
  return state_.best_step > 0 && has_fallen_by(has_shrunk ? kDecline : kCollapse);
}

Verdict Guard::keep(const ModelScore& score) {
  state_.best_step = score.step;
  state_.best_psnr = score.psnr;
  state_.best_count = score.gaussian_count;
  state_.best_training_psnr = state_.training_psnr;
  state_.worse_in_a_row = 0;
  return Verdict::kKeep;
}

void Guard::went_back() {
  state_.training_psnr = state_.best_training_psnr;
  state_.worse_in_a_row = 0;
}

Verdict Guard::go_back(Verdict verdict) {
  went_back();
  state_.may_grow = false;
  return verdict;
}

Verdict Guard::collapse() {
  return go_back(++state_.collapses <= kMostCollapses ? Verdict::kRecover : Verdict::kEnd);
}

Verdict Guard::judge(const ModelScore& score) {
  if (has_collapsed(score)) return collapse();
  if (!std::isfinite(score.psnr)) return state_.best_step > 0 ? collapse() : Verdict::kGoOn;
  if (state_.best_step == 0 || score.psnr >= state_.best_psnr) return keep(score);
  const bool is_worse = score.psnr <= state_.best_psnr - kWorse;
  // Training steps tell a collapse, but not whether other views get worse.
  if (!score.is_watched) return is_worse ? Verdict::kGoOn : keep(score);
  state_.worse_in_a_row = is_worse ? state_.worse_in_a_row + 1 : 0;
  if (state_.worse_in_a_row < kPatience) return Verdict::kGoOn;
  return go_back(state_.may_grow ? Verdict::kStopGrowth : Verdict::kEnd);
}

std::vector<std::size_t> choose_watched(std::span<const std::size_t> training_views) {
  const std::size_t n = training_views.size();
  if (n < kLeastViews) return {};
  return spread(training_views, std::clamp(n / kViewsPerWatched, kLeastWatched, kMostWatched));
}

}  // namespace stipple
