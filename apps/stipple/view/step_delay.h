// SPDX-License-Identifier: Apache-2.0
#pragma once
// By how much pictures make the training steps longer that run while they are encoded and sent, and right
// after they were rendered: they have displaced the data of the training from the caches, and take cores and
// memory bandwidth.
#include <algorithm>
#include <cmath>
#include <limits>

namespace stipple {

class StepDelay {
 public:
  // Takes the duration of a step, without its refinement, and returns how much of it is to be charged to the
  // pictures that have disturbed it. Single steps vary too much to tell: what a shorter one gains is set off
  // against later ones.
  double charge(double step_s, bool is_disturbed) {
    if (!is_disturbed) {
      if (!(step_s > kOutlier * plain_s_)) follow(step_s);
      return 0;
    }
    if (!std::isfinite(plain_s_)) return 0;
    // Of a step that also evaluated or saved, the pictures have not caused most.
    owed_s_ += std::min(step_s, kOutlier * plain_s_) - plain_s_;
    owed_s_ = std::max(owed_s_, -kMostCredit * plain_s_);
    const double charged = std::max(owed_s_, 0.0);
    owed_s_ -= charged;
    return charged;
  }

 private:
  static constexpr double kShare = 0.03;  // weight of the latest step in the running mean
  static constexpr double kOutlier = 20;
  static constexpr double kMostCredit = 10;  // steps

  void follow(double step_s) {
    plain_s_ = std::isfinite(plain_s_) ? plain_s_ + kShare * (step_s - plain_s_) : step_s;
  }

  double plain_s_ = std::numeric_limits<double>::quiet_NaN();  // mean of steps that nothing disturbs
  double owed_s_ = 0;                                          // negative: a credit
};

}  // namespace stipple
