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

// Updates the value at `at` of an array and its word of moments, which has 32 bits; `random` rounds them.
#define ADAM_IN_PLACE(values, at, moments, word, gradient, rate, random)                             \
  {                                                                                                  \
    AdamParameter p = adam(with_wide_moments(values[at], moments[word]), gradient, adam_rule(rate)); \
    values[at] = p.value;                                                                            \
    moments[word] = wide_moments(p, random);                                                         \
  }

// The same with a word of 16 bits, the lower (half_word = 0) or upper one of `pair`.
#define ADAM_IN_PAIR(values, at, pair, half_word, gradient, rate, random)                            \
  {                                                                                                  \
    uint stored = bitfieldExtract(pair, int(16u * half_word), 16);                                   \
    AdamParameter p = adam(with_narrow_moments(values[at], stored), gradient, adam_rule(rate));      \
    values[at] = p.value;                                                                            \
    pair = bitfieldInsert(pair, narrow_moments(p, random), int(16u * half_word), 16);                \
  }

// Whether no view of the pass has overflowed or met a value that is not finite, so that the update may run.
#define DEFINE_MAY_UPDATE(status)                                                                              \
  bool may_update(uint view_count) {                                                                           \
    bool may = true;                                                                                           \
    for (uint v = 0u; v < view_count; ++v)                                                                     \
      may = may && status[v * kStatusWords + kHasOverflowed] == 0u && status[v * kStatusWords + kIsBad] == 0u; \
    return may;                                                                                                \
  }
