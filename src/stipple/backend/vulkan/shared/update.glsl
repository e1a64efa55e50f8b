// SPDX-License-Identifier: Apache-2.0
// What the updates of optimize, perturb and project_backward_optimize share.
#define ADAM_PARAMETERS \
  float beta1;          \
  float beta2;          \
  float epsilon;        \
  float correction1;    \
  float correction2;

#define DEFINE_ADAM_RULE                 \
  AdamRule adam_rule(float rate) {       \
    AdamRule rule;                       \
    rule.rate = rate;                    \
    rule.beta1 = beta1;                  \
    rule.beta2 = beta2;                  \
    rule.epsilon = epsilon;              \
    rule.inverse_correction1 = correction1; \
    rule.inverse_correction2 = correction2; \
    return rule;                         \
  }

// The update of the value at `at` of three arrays.
#define ADAM_IN_PLACE(values, moments1, moments2, at, gradient, rate) \
  {                                                                   \
    AdamParameter p;                                                  \
    p.value = values[at];                                             \
    p.first_moment = moments1[at];                                    \
    p.second_moment = moments2[at];                                   \
    p = adam(p, gradient, adam_rule(rate));                           \
    values[at] = p.value;                                             \
    moments1[at] = p.first_moment;                                    \
    moments2[at] = p.second_moment;                                   \
  }

// Whether no view of the pass has overflowed or met a value that is not finite, so that the update may run.
#define DEFINE_MAY_UPDATE(status)                                                                              \
  bool may_update(uint view_count) {                                                                           \
    bool may = true;                                                                                           \
    for (uint v = 0u; v < view_count; ++v)                                                                     \
      may = may && status[v * kStatusWords + kHasOverflowed] == 0u && status[v * kStatusWords + kIsBad] == 0u; \
    return may;                                                                                                \
  }
