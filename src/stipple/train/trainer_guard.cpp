// SPDX-License-Identifier: Apache-2.0
// The part of the trainer that carries out what the guard decides (train/guard.h).
#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

#include "stipple/backend/sharded_step.h"
#include "stipple/core/spread.h"
#include "stipple/ranks/collectives.h"
#include "stipple/train/trainer_impl.h"

namespace stipple {

namespace {

constexpr double kBetter = 0.05;            // dB; a smaller gain is not worth going back for
constexpr float kSaferRates = 0.5f;         // after every collapse
constexpr std::size_t kTrainingScores = 3;  // views whose mean stands for that of the training steps

// Memory that the host has not used before takes longer than the transfer, so that it is kept, and with it
// some more for a model that grows. It is never there twice.
template <class T>
void download_over(const Device& device, const DeviceArray<T>& from, std::vector<T>& to) {
  if (to.capacity() < from.size()) {
    to = {};
    to.reserve(from.size() + from.size() / 2);
  }
  to.resize(from.size());
  if (!from.empty()) device.download(*from.memory(), std::as_writable_bytes(std::span(to)));
}

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
  ModelScore score{state_.step, gaussian_count(), guard_.state().training_psnr, false};
  const std::span<const std::size_t> watched = watched_views();
  if (watched.empty()) return score;
  score.psnr = psnr_without_dropout(watched);
  score.is_watched = true;
  return score;
}

double Trainer::Impl::psnr_without_dropout(std::span<const std::size_t> indices) {
  release_buffers();  // of a training step: there need not be room for a second pass
  std::vector<View> views;
  for (const std::size_t index : indices) views.push_back({scene_.views[index].camera, options_.render});
  std::vector<double> psnr(views.size(), 0);
  if (has_several_ranks()) {
    render_sharded(backend_, *link_, device_.gaussians, device_.precomputed, views,
                   [&](std::size_t i, Pass& pass) { psnr[i] = psnr_of_view(indices[i], views[i], pass); });
    psnr = sum_by_element(ranks_, psnr);  // each was measured on one rank
  } else {
    for (std::size_t i = 0; i < views.size(); ++i) {
      forward(backend_, device_.gaussians, device_.precomputed, views[i], watch_pass_);
      psnr[i] = psnr_of_view(indices[i], views[i], watch_pass_);
    }
    watch_pass_ = {};  // its memory is needed for training
  }
  return std::accumulate(psnr.begin(), psnr.end(), 0.0) / static_cast<double>(views.size());
}

double Trainer::Impl::psnr_of_view(std::size_t index, const View& view, Pass& pass) {
  const auto target = targets_.get(index);
  backend_.loss(view, target->pixels, {}, pass);
  const PassResult result = backend_.read(pass);
  return psnr_of(result.views[0].loss.mean_squared_error / target->mean_weight);
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

// The copy is in the host's memory: it is made once in some hundred steps, and on the device it would take
// half as much as the training state. If there is no room for it, the run goes on without one.
void Trainer::Impl::keep_model() {
  has_replaced_best_ = true;
  bool has_failed = false;
  try {
    best_.sh_degree = device_.gaussians.sh_degree;
    for_each_parameter([&](int, const auto& from, auto& to) { download_over(backend_, from, to); },
                       device_.gaussians, best_);
    download_over(backend_, device_.precomputed.filter_variance, best_filter_);
    best_part_ = device_.part;
  } catch (const std::bad_alloc&) {
    has_failed = true;
  }
  if (is_true_on_any(ranks_, has_failed)) release_best();
}

void Trainer::Impl::release_best() {
  best_ = {};
  best_filter_ = {};
  guard_.forget_best();
}

// The optimiser starts afresh: its moments are those of the model that is given up. Memory is released before
// it is needed; if there is too little even so, this throws before anything has changed.
void Trainer::Impl::go_back() {
  release_buffers();
  const DeviceGaussians& given_up = device_.gaussians;
  const Place place = place_of_harmonics(best_part_.total_of(best_.size()));
  require_room(backend_, train_state_bytes(best_.size(), best_.sh_degree, place) -
                             train_state_bytes(given_up.size(), given_up.sh_degree, given_up.sh.place()));
  is_torn_ = true;  // until the step is finished
  device_ = {};
  device_ = make_train_state(backend_, best_, place);
  device_.part = best_part_;
  device_.precomputed.filter_variance.upload(backend_, best_filter_);
  state_.adam_step = 0;
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
