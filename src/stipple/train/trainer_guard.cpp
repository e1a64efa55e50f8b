// SPDX-License-Identifier: Apache-2.0
// The part of the trainer that carries out what the guard decides (train/guard.h).
#include <algorithm>
#include <cmath>

#include "stipple/train/trainer_impl.h"

namespace stipple {

namespace {

constexpr double kBetter = 0.05;         // dB; a smaller gain is not worth going back for
constexpr float kSaferRates = 0.5f;      // after every collapse
constexpr float kLastPolishRate = 0.1f;  // relative to the first step of the polish

double psnr_of(double mean_squared_error) { return -10 * std::log10(std::max(mean_squared_error, 1e-12)); }

}  // namespace

// The model is judged once per step, even if what follows runs out of memory and is repeated.
void Trainer::Impl::check_model() {
  if (state_.checked_step == state_.step || state_.polish_until > 0) return;
  const bool gives_back = !state_.has_all_views && state_.step >= schedule_.gives_views_back_at();
  if (!gives_back && !schedule_.checks_at(state_.step)) return;
  const ModelScore score = score_model();
  act_on(guard_.judge(score), score);
  state_.checked_step = state_.step;
  if (!gives_back || state_.has_all_views) return;
  const GuardState& best = guard_.state();
  if (best.best_step > 0 && best.best_psnr > score.psnr + kBetter) {
    go_back();
    report_.guard =
        GuardEvent{GuardEvent::Kind::kGaveViewsBack, best.best_step, score.psnr, best.best_psnr, last_step()};
  }
  give_views_back();
}

ModelScore Trainer::Impl::score_model() {
  ModelScore score{state_.step, device_.gaussians.size(), guard_.state().training_psnr, false};
  const std::span<const std::size_t> watched = watched_views();
  if (watched.empty()) return score;
  double sum = 0;
  for (const std::size_t index : watched) {
    const auto target = targets_.get(index);
    View view{scene_.views[index].camera, options_.render};
    forward(backend_, device_.gaussians, {}, view, watch_pass_);
    backend_.loss(view, target->pixels, {}, watch_pass_);
    const PassResult result = backend_.read(watch_pass_);
    sum += psnr_of(static_cast<double>(result.views[0].loss.mean_squared_error / target->mean_weight));
  }
  score.psnr = sum / static_cast<double>(watched.size());
  score.is_watched = true;
  return score;
}

void Trainer::Impl::act_on(Verdict verdict, const ModelScore& score) {
  using Kind = GuardEvent::Kind;
  const GuardState& best = guard_.state();
  if (verdict == Verdict::kGoOn) return;
  if (verdict == Verdict::kKeep) return keep_model();
  go_back();
  // A model that has stopped growing on schedule cannot be helped by stopping its growth.
  const bool ends =
      verdict == Verdict::kEnd || (verdict == Verdict::kStopGrowth && !schedule_.grows_after(state_.step));
  if (ends) end_early();
  report_.guard = GuardEvent{verdict == Verdict::kRecover ? Kind::kRecovered
                             : ends                       ? Kind::kEndsEarly
                                                          : Kind::kStoppedGrowth,
                             best.best_step, score.psnr, best.best_psnr, last_step()};
}

// The copy stays on the device, where making it costs next to nothing. If there is no room for it, the run
// goes on without one.
void Trainer::Impl::keep_model() {
  best_ = {};
  try {
    DeviceGaussians copy;
    copy.sh_degree = device_.gaussians.sh_degree;
    for_each_parameter([&](int, auto& to, const auto& from) { to = from.copy(backend_); }, copy,
                       device_.gaussians);
    best_ = std::move(copy);
  } catch (const OutOfMemory&) {
    guard_.forget_best();
  }
}

bool Trainer::Impl::release_best() {
  const bool had_one = best_.size() > 0;
  best_ = {};
  guard_.forget_best();
  return had_one;
}

// The optimiser starts afresh: its moments are those of the model that is given up. Memory is released before
// it is needed.
void Trainer::Impl::go_back() {
  device_.moments = {};
  device_.gaussians = std::move(best_);
  const DeviceGaussians& model = device_.gaussians;
  device_.moments = {zeros_like(backend_, model), zeros_like(backend_, model)};
  device_.statistics.resize_zero(backend_, model.size());
  keep_model();
}

bool Trainer::Impl::recover_from_collapse() {
  if (guard_.state().best_step == 0) return false;
  act_on(guard_.collapse(), {state_.step, 0, 0, false});
  return true;
}

void Trainer::Impl::give_views_back() {
  state_.has_all_views = true;
  views_ = all_views_;
  shuffle();
}

void Trainer::Impl::end_early() {
  if (!state_.has_all_views) give_views_back();
  state_.polish_from = state_.step;
  state_.polish_until = std::min(schedule_.last_step(), state_.step + schedule_.polish_steps());
}

// The schedule's rates, lowered after a collapse. In the polish of a run that ends early, the rates fall to a
// tenth, and that of the means to the schedule's last.
AdamOptions Trainer::Impl::rates() const {
  AdamOptions adam = schedule_.rates(state_.step, state_.adam_step + 1);
  float factor = std::pow(kSaferRates, static_cast<float>(guard_.state().collapses));
  float mean_factor = factor;
  if (state_.polish_until > 0) {
    const float done = static_cast<float>(state_.step - state_.polish_from) /
                       static_cast<float>(std::max(1, state_.polish_until - state_.polish_from));
    factor *= std::pow(kLastPolishRate, done);
    const float last = schedule_.mean_rate(options_.steps) / schedule_.mean_rate(state_.step);
    mean_factor *= std::pow(last, done);
  }
  adam.mean *= mean_factor;
  for (float* rate : {&adam.log_scale, &adam.rotation, &adam.logit_opacity, &adam.sh_base, &adam.sh_rest})
    *rate *= factor;
  return adam;
}

}  // namespace stipple
