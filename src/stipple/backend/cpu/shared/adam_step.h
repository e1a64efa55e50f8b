// SPDX-License-Identifier: Apache-2.0
#pragma once
// optimize over a range of Gaussians.
#include <cstddef>
#include <vector>

#include "stipple/backend/adam_rule.h"
#include "stipple/backend/cpu/shared/gaussian_group.h"
#include "stipple/backend/cpu/shared/parameter_gradient.h"

namespace stipple::cpu {

class AdamStep {
 public:
  // The penalties count once per view.
  AdamStep(TrainState&, const AdamOptions&, const LossOptions&, int view_count);

  // Updates Gaussians [begin, end), where `begin` is a multiple of kMaxGroup; gradient[0] belongs to `begin`.
  // is_seen(gaussian) is only called if there are parameters whose update depends on it.
  template <class IsSeen>
  void run(std::size_t begin, std::size_t end, const ParameterGradient& gradient, IsSeen is_seen) const {
    if (first_of_seen_ > 0) run_groups(0, first_of_seen_, begin, end, gradient);
    if (first_of_seen_ == groups_.size()) return;
    for (std::size_t i = begin; i < end; ++i)
      if (is_seen(i)) run_groups(first_of_seen_, groups_.size(), i, i + 1, gradient.from(i - begin));
  }

  // The numbers of a Gaussian whose moments are in one array: `width` of the `row` floats that it has in an
  // array of parameters, starting at `column`.
  struct Group {
    float* GaussianArrays<FloatPointer>::*gradient;
    float* value;
    std::size_t row, column, width;
    std::uint32_t* wide;    // the moments, in words of 32 bits ...
    std::uint16_t* narrow;  // ... or of 16
    std::uint32_t key;      // see MomentKeys
    float rate;
    Penalty penalty;
    float penalty_weight;  // per value
  };

 private:
  void run_groups(std::size_t first, std::size_t last, std::size_t begin, std::size_t end,
                  const ParameterGradient& gradient) const;

  std::vector<Group> groups_;
  std::size_t first_of_seen_;  // the groups from here on are only updated if the Gaussian is seen
  Math<float>::AdamRule rule_;
};

}  // namespace stipple::cpu
