// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "stipple/backend/train_step.h"

namespace stipple {

// The options as the shared maths takes them; the rate, which every group of parameters has its own of, is 0.
inline Math<float>::AdamRule adam_rule(const AdamOptions& o) {
  const auto inverse_correction = [&](float beta) {
    return static_cast<float>(1 / (1 - std::pow(static_cast<double>(beta), o.step)));
  };
  return {0, o.beta1, o.beta2, o.epsilon, inverse_correction(o.beta1), inverse_correction(o.beta2)};
}

struct PenaltyWeights {  // of one Gaussian's opacity, and of one of its three scales
  float opacity, scale;
};

inline PenaltyWeights penalty_weights(const LossOptions& loss, std::size_t gaussians, int view_count) {
  const auto views = static_cast<float>(view_count),
             count = static_cast<float>(gaussians > 0 ? gaussians : 1);
  return {views * loss.opacity_penalty / count, views * loss.scale_penalty / (3 * count)};
}

}  // namespace stipple
