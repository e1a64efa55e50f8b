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
  AdamStep(DeviceGaussians&, AdamMoments&, const AdamOptions&, const LossOptions&, int view_count);

  // Updates Gaussians [begin, end), where `begin` is a multiple of kMaxGroup; gradient[0] belongs to `begin`.
  // is_seen(gaussian) is only called if AdamOptions::visible_only is set.
  template <class IsSeen>
  void run(std::size_t begin, std::size_t end, const ParameterGradient& gradient, IsSeen is_seen) const {
    if (!visible_only_) return run_all(begin, end, gradient);
    for (std::size_t i = begin; i < end; ++i)
      if (is_seen(i)) run_all(i, i + 1, gradient.from(i - begin));
  }

  struct Group {  // one parameter array as plain floats
    float *value, *first_moment, *second_moment;
    std::size_t per_gaussian;  // floats
    std::vector<float> rates;  // of kMaxGroup Gaussians, padded for loads past the end
    Penalty penalty;
    float penalty_weight;  // per value
  };

 private:
  void run_all(std::size_t begin, std::size_t end, const ParameterGradient& gradient) const;

  std::vector<Group> groups_;  // in the order of for_each_parameter
  Math<float>::AdamRule rule_;
  bool visible_only_;
};

}  // namespace stipple::cpu
