// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a step does, and with which learning rates. Steps are counted from 1.
#include "stipple/backend/backend.h"
#include "stipple/train/train_options.h"

namespace stipple {

class Schedule {
 public:
  Schedule(const TrainOptions& options, float extent) : options_(options), extent_(extent) {}

  int last_step() const;

  int sh_degree_at(int step) const;
  bool refines_at(int step) const;
  bool sorts_at(int step) const;  // the first refinement and every tenth after it
  bool trims_at(int step) const { return sorts_at(step); }
  bool limits_sizes_at(int step) const;  // besides the last step
  bool resets_opacity_at(int step) const;
  bool prunes_large_at(int step) const;
  float grow_gradient(int step) const;  // mcmc's threshold
  bool splits_at(int step) const;       // mcmc places copies beside one another
  bool grows_after(int step) const;     // whether a refinement is still to come
  bool checks_at(int step) const;       // the guard judges the model
  int gives_views_back_at() const;      // the watched views are trained on after this step
  int polish_steps() const;             // of a run that the guard ends early

  float dropout(int step, std::size_t view_count) const;  // of this many training views

  float mean_rate(int step) const;  // includes the scene extent
  // In the last part of a run, all other rates fall, too: the factor for a share of that part, and for a
  // step.
  static float late_rate_factor(float done);
  float rate_factor(int step) const;
  float depth_weight(int step) const;  // 0 in steps without depth loss
  float noise(int step) const;  // mcmc's, as an inverse length; decays with the learning rate of the means

  // adam_step is the number of this update: the step less the number of skipped steps.
  AdamOptions rates(int step, int adam_step) const;

 private:
  double progress(int step) const;  // from 0 to 1
  int stretched(int step) const;    // scales a step of a run of 30,000 to this run
  float batch_factor() const;
  int refine_interval() const;

  const TrainOptions& options_;
  float extent_;
};

}  // namespace stipple
