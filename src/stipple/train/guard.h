// SPDX-License-Identifier: Apache-2.0
#pragma once
// Keeps training from making the model worse. A few training views are watched instead of trained on. While
// their PSNR rises, all is well. If it falls, the model fits its training photos at the expense of all other
// views: Gaussians become fog in front of single cameras. A collapse, after which the model does not fit its
// training photos either, shows in the training steps themselves, so that it is noticed without watched
// views.
//
// The guard only decides. The trainer measures the scores, keeps a copy of the best model and carries out the
// decisions (train/trainer_guard.cpp).
#include <cstddef>
#include <span>
#include <vector>

namespace stipple {

struct GuardState {            // part of a checkpoint
  int best_step = 0;           // of the model that was kept; 0 if there is none
  double best_psnr = 0;        // its score
  std::size_t best_count = 0;  // of Gaussians
  double best_training_psnr = 0;
  double training_psnr = 0;  // running mean over about an epoch
  int training_steps = 0;    // in that mean
  int worse_in_a_row = 0;
  int collapses = 0;
  bool may_grow = true;
};

enum class Verdict {
  kGoOn,
  kKeep,        // this is the best model so far
  kStopGrowth,  // go back to the best model and do not let it grow any more
  kEnd,         // go back to the best model and end the run
  kRecover,     // the model has collapsed: go back to the best model and go on with safer settings
};

struct ModelScore {
  int step = 0;
  std::size_t gaussian_count = 0;
  double psnr = 0;          // of the watched views, or of training if there are none
  bool is_watched = false;  // which of the two
};

class Guard {
 public:
  // An epoch has this number of steps.
  explicit Guard(double epoch) : share_(1 / epoch) {}

  void add_training_step(double psnr);
  void set_training_psnr(double psnr) { state_.training_psnr = psnr; }  // instead of the mean of the steps
  // Any verdict to go back assumes that the trainer does so: the mean of the training steps is again that of
  // the best model.
  Verdict judge(const ModelScore& score);
  Verdict collapse();  // the verdict on a model of which nothing is left
  void went_back();    // to the best model, for another reason
  void forget_best() { state_.best_step = 0; }

  const GuardState& state() const { return state_; }
  void restore(const GuardState& state) { state_ = state; }

 private:
  bool has_collapsed(const ModelScore& score) const;
  Verdict keep(const ModelScore& score);
  Verdict go_back(Verdict verdict);

  double share_;  // of a step in the running mean
  GuardState state_;
};

// The training views to watch, spread over the capture: none if there are fewer than 24, otherwise every
// tenth, but at least 3 and at most 12.
std::vector<std::size_t> choose_watched(std::span<const std::size_t> training_views);

}  // namespace stipple
