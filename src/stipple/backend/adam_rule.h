// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "stipple/backend/backend.h"

namespace stipple {

// The options as the shared maths takes them; the rate, which every group of parameters has its own of, is 0.
inline Math<float>::AdamRule adam_rule(const AdamOptions& o) {
  const auto inverse_correction = [&](float beta) {
    return static_cast<float>(1 / (1 - std::pow(static_cast<double>(beta), o.step)));
  };
  return {0, o.beta1, o.beta2, o.epsilon, inverse_correction(o.beta1), inverse_correction(o.beta2)};
}

}  // namespace stipple
