// SPDX-License-Identifier: Apache-2.0
#pragma once
// When to do what, as functions of the step. Steps are counted from 1.
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
  bool resets_opacity_at(int step) const;
  bool prunes_large_at(int step) const;

  float mean_rate(int step) const;  // times the extent

  // adam_step counts the updates there were, which is the step less those that were skipped.
  AdamOptions rates(int step, int adam_step) const;

 private:
  int stretched(int step_of_30000) const;
  float batch_factor() const;
  int refine_interval() const;

  const TrainOptions& options_;
  float extent_;
};

}  // namespace stipple
