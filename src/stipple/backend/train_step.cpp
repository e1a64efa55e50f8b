// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>

#include "stipple/backend/backend.h"

namespace stipple {

namespace {

// The time between the stages of a step.
class Clock {
 public:
  explicit Clock(StageTimes& ms) : ms_(ms) {}
  void lap(Stage stage) {
    const auto now = std::chrono::steady_clock::now();
    ms_[static_cast<std::size_t>(stage)] += std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
  }

 private:
  StageTimes& ms_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace

TrainOutcome Backend::train_step(TrainState& state, const View& view, const LossTarget& target,
                                 const TrainStep& what, TrainBuffers& b) {
  TrainOutcome outcome;
  Clock clock(outcome.ms);
  outcome.is_finite = false;
  project(state.gaussians, {}, view, b.projection);
  clock.lap(Stage::kProject);
  bin(b.projection, view, b.bins);
  clock.lap(Stage::kBin);
  blend(b.projection, b.bins, view, b.frame);
  clock.lap(Stage::kBlend);
  outcome.loss = loss(b.frame, target, what.ssim_weight, b.dL_dframe);
  clock.lap(Stage::kLoss);
  if (!std::isfinite(outcome.loss.total)) return outcome;
  b.dL_dsplat.wants_absolute = what.absolute_gradients;
  blend_backward(b.projection, b.bins, view, b.frame, b.dL_dframe, b.dL_dsplat);
  outcome.is_finite = observe(b.projection, b.dL_dsplat, view, state.statistics);
  clock.lap(Stage::kBlendBackward);
  if (!outcome.is_finite) return outcome;
  project_backward_optimize(state.gaussians, view, b.projection, b.dL_dsplat, state.moments, what.adam);
  if (what.noise != 0) perturb(state.gaussians, what.noise, what.noise_seed);
  clock.lap(Stage::kOptimize);
  return outcome;
}

}  // namespace stipple
