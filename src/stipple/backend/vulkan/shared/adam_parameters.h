// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/adam_rule.h"

namespace stipple::vulkan {

// The layout of ADAM_PARAMETERS in shared/update.glsl.
struct AdamParameters {
  float beta1, beta2, epsilon, correction1, correction2;

  explicit AdamParameters(const AdamOptions& options) {
    const Math<float>::AdamRule rule = adam_rule(options);
    beta1 = rule.beta1;
    beta2 = rule.beta2;
    epsilon = rule.epsilon;
    correction1 = rule.inverse_correction1;
    correction2 = rule.inverse_correction2;
  }
};

}  // namespace stipple::vulkan
