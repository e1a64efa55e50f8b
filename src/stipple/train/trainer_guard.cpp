// SPDX-License-Identifier: Apache-2.0
// The part of the trainer that carries out what the guard decides (train/guard.h).
#include <algorithm>
#include <cmath>

#include "stipple/core/spread.h"
#include "stipple/train/trainer_impl.h"

namespace stipple {

namespace {

constexpr double kBetter = 0.05;            // dB; a smaller gain is not worth going back for
constexpr float kSaferRates = 0.5f;         // after every collapse
constexpr std::size_t kTrainingScores = 3;  // views whose mean stands for that of the training steps

}  // namespace

// The model is judged once per step, even if what follows runs out of memory and is repeated. If this throws,
// nothing has changed but that the copy of the best model may have been released, or the state is torn.
void Trainer::Impl::check_model() {
  if (state_.checked_step == state_.step || state_.polish_until > 0) return;
  const bool gives_back = !state_.has_all_views && state_.step >= schedule_.gives_views_back_at();
  if (!gives_back && !schedule_.checks_at(state_.step)) return;
  const GuardState before = guard_.state();
  const std::optional<GuardEvent> event = report_.guard;
  State state_before = state_;
  std::vector<std::size_t> views_before = views_;
  has_replaced_best_ = false;
  try {
    const ModelScore score = score_model();
    const bool went_back = act_on(guard_.judge(score), score);
    if (gives_back && !state_.has_all_views) {
      if (!went_back) return_to_best(score);
      give_views_back();
    }
  } catch (...) {
    guard_.restore(before);
    if (has_replaced_best_) release_best();  // it is not the one that this state of the guard means
    report_.guard = event;
    state_ = std::move(state_before);
    views_ = std::move(views_before);
    throw;
  }
  is_torn_ = false;
  state_.checked_step = state_.step;
}

// Before the watched views are trained on: the last model need not be the best.
void Trainer::Impl::return_to_best(const ModelScore& score) {
  const GuardState best = guard_.state();
  if (best.best_step == 0 || best.best_psnr <= score.psnr + kBetter) return;
  go_back();
  guard_.went_back();
  report_.guard =
      GuardEvent{GuardEvent::Kind::kGaveViewsBack, best.best_step, score.psnr, best.best_psnr, last_step()};
}

// The PSNR of a step falls as the dropout rises, so that some training views are rendered without it instead.
ModelScore Trainer::Impl::score_model() {
  if (uses_dropout())
    guard_.set_training_psnr(psnr_without_dropout(spread(std::span(views_), kTrainingScores)));
  ModelScore score{state_.step, device_.gaussians.size(), guard_.state().training_psnr, false};
  const std::span<const std::size_t> watched = watched_views();
  if (watched.empty()) return score;
  score.psnr = psnr_without_dropout(watched);
  score.is_watched = true;
  return score;
}

double Trainer::Impl::psnr_without_dropout(std::span<const std::size_t> views) {
  double sum = 0;
  for (const std::size_t index : views) {
    const auto target = targets_.get(index);
    View view{scene_.views[index].camera, options_.render};
    forward(backend_, device_.gaussians, device_.precomputed, view, watch_pass_);
    backend_.loss(view, target->pixels, {}, watch_pass_);
    const PassResult result = backend_.read(watch_pass_);
    sum += psnr_of(result.views[0].loss.mean_squared_error / target->mean_weight);
  }
  watch_pass_ = {};  // its memory is needed for training
  return sum / static_cast<double>(views.size());
}

bool Trainer::Impl::act_on(Verdict verdict, const ModelScore& score) {
  using Kind = GuardEvent::Kind;
  if (verdict == Verdict::kGoOn) return false;
  if (verdict == Verdict::kKeep) {
    keep_model();
    return false;
  }
  const GuardState best = guard_.state();
  go_back();
  // A model that has stopped growing on schedule cannot be helped by stopping its growth.
  const bool ends =
      verdict == Verdict::kEnd || (verdict == Verdict::kStopGrowth && !schedule_.grows_after(state_.step));
  if (ends) end_early();
  const Kind kind = verdict == Verdict::kRecover ? Kind::kRecovered
                    : ends                       ? Kind::kEndsEarly
                                                 : Kind::kStoppedGrowth;
  report_.guard = GuardEvent{kind, best.best_step, score.psnr, best.best_psnr, last_step()};
  return true;
}

// The copy stays on the device, where making it costs next to nothing. If there is no room for it, the run
// goes on without one.
void Trainer::Impl::keep_model() {
  has_replaced_best_ = true;
  release_frame();
  best_ = {};
  best_filter_ = {};
  try {
    DeviceGaussians copy;
    copy.sh_degree = device_.gaussians.sh_degree;
    for_each_parameter([&](int, auto& to, const auto& from) { to = from.copy(backend_); }, copy,
                       device_.gaussians);
    best_filter_ = device_.precomputed.filter_variance.copy(backend_);
    best_ = std::move(copy);
  } catch (const OutOfMemory&) {
    guard_.forget_best();
  }
}

bool Trainer::Impl::release_best() {
  const bool had_one = best_.size() > 0;
  best_ = {};
  best_filter_ = {};
  guard_.forget_best();
  return had_one;
}

// The optimiser starts afresh: its moments are those of the model that is given up. Memory is released before
// it is needed; if there is too little even so, this throws before anything has changed.
void Trainer::Impl::go_back() {
  const DeviceGaussians& given_up = device_.gaussians;
  const std::size_t freed = train_state_bytes(given_up.size(), given_up.sh_degree);
  const std::size_t needed = train_state_bytes(best_.size(), best_.sh_degree) -
                             best_.size() * (parameter_bytes(best_.sh_degree) + sizeof(float));
  if (needed > freed) require_room(backend_, needed - freed);
  is_torn_ = true;  // until the step is finished
  device_.moments = {};
  device_.gaussians = std::move(best_);
  device_.precomputed.filter_variance = std::move(best_filter_);
  const DeviceGaussians& model = device_.gaussians;
  device_.moments = {zeros_like(backend_, model), zeros_like(backend_, model)};
  device_.statistics.resize_zero(backend_, model.size());
  state_.adam_step = 0;
  keep_model();
}

bool Trainer::Impl::recover_from_collapse() {
  const GuardState before = guard_.state();
  if (before.best_step == 0) return false;
  try {
    act_on(guard_.collapse(), {state_.step, 0, 0, false});
  } catch (...) {
    guard_.restore(before);  // or a repetition would count the collapse twice
    throw;
  }
  return true;
}

void Trainer::Impl::give_views_back() {
  state_.has_all_views = true;
  views_ = all_views_;
  shuffle();
  // From now on, the training steps are all there is to judge by.
  guard_.forget_best();
  const ModelScore score = score_model();
  act_on(guard_.judge(score), score);
}

void Trainer::Impl::end_early() {
  if (!state_.has_all_views) give_views_back();
  state_.polish_from = state_.step;
  state_.polish_until = std::min(options_.steps, state_.step + schedule_.polish_steps());
}

// The schedule's rates, lowered after a collapse. In the polish of a run that ends early, they fall as in the
// last part of every run, and that of the means to the schedule's last.
AdamOptions Trainer::Impl::rates() const {
  AdamOptions adam = schedule_.rates(state_.step, state_.adam_step + 1);
  const float safer = std::pow(kSaferRates, static_cast<float>(guard_.state().collapses));
  float factor = safer * schedule_.rate_factor(state_.step), mean_factor = safer;
  if (state_.polish_until > 0) {
    const float done = static_cast<float>(state_.step - state_.polish_from) /
                       static_cast<float>(std::max(1, state_.polish_until - state_.polish_from));
    factor = safer * schedule_.rate_factor(state_.polish_from) * Schedule::late_rate_factor(done);
    const float last = schedule_.mean_rate(options_.steps) / schedule_.mean_rate(state_.step);
    mean_factor *= std::pow(last, done);
  }
  adam.mean *= mean_factor;
  for (float* rate : {&adam.log_scale, &adam.rotation, &adam.logit_opacity, &adam.sh_base, &adam.sh_rest})
    *rate *= factor;
  return adam;
}

}  // namespace stipple
