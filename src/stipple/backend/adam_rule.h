// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "stipple/backend/train_step.h"

namespace stipple {

// Converts the options to the form that the shared maths takes. The learning rate is left at 0, because each
// parameter group has its own.
inline Math<float>::AdamRule adam_rule(const AdamOptions& o) {
  const auto inverse_correction = [&](float beta) {
    return static_cast<float>(1 / (1 - std::pow(static_cast<double>(beta), o.step)));
  };
  return {0, o.beta1, o.beta2, o.epsilon, inverse_correction(o.beta1), inverse_correction(o.beta2)};
}

// Throws Error if the sum lacks what the options need.
inline void check_update(const GradientSum& sum, const AdamOptions& options) {
  if (options.harmonics_of_visible_only() && sum.view_statistics.size() != sum.gaussians.size())
    throw Error(
        "AdamOptions::visible_only and visible_harmonics_only need GradientSum::view_statistics; set "
        "WantedGradients::view_statistics");
}

enum class Penalty { kNone, kOpacity, kScale };

// For every array of moments, the key with which rounding_bits() gives the random word for word i of these
// Gaussians. Words are counted through the whole model, so that several ranks together round as one process
// does.
template <class T>
using KeyOf = std::uint32_t;
using MomentKeys = MomentArrays<KeyOf>;

inline MomentKeys moment_keys(int step, const ModelPart& part, int sh_degree) {
  using M = Math<float>;
  MomentKeys keys;
  keys.sh_degree = sh_degree;
  std::uint32_t array = 0;
  for_each_moment(
      [&](int per_gaussian, std::uint32_t& key) {
        const auto first = static_cast<std::uint32_t>(part.first * static_cast<std::size_t>(per_gaussian));
        key = M::rounding_bits(M::random_bits(array++, static_cast<std::uint32_t>(step), 0).x, first);
      },
      keys);
  return keys;
}

// What differs between the updates of the parameter arrays. `rest_rate` is the learning rate of the SH
// coefficients after the base colour.
struct ParameterRule {
  float rate = 0, rest_rate = 0;
  Penalty penalty = Penalty::kNone;
  float penalty_weight = 0;  // per value
};
template <class T>
using RuleOf = ParameterRule;
using ParameterRules = GaussianArrays<RuleOf>;

// The penalties count once per view.
inline ParameterRules parameter_rules(const AdamOptions& o, const LossOptions& loss, std::size_t gaussians,
                                      int view_count) {
  const auto views = static_cast<float>(view_count),
             count = static_cast<float>(gaussians > 0 ? gaussians : 1);
  const auto penalised = [](float rate, Penalty penalty, float weight) {
    return ParameterRule{rate, 0, weight != 0 ? penalty : Penalty::kNone, weight};
  };
  ParameterRules rules;
  rules.mean = {o.mean};
  rules.log_scale = penalised(o.log_scale, Penalty::kScale, views * loss.scale_penalty / (3 * count));
  rules.rotation = {o.rotation};
  rules.logit_opacity = penalised(o.logit_opacity, Penalty::kOpacity, views * loss.opacity_penalty / count);
  rules.sh = {o.sh_base, o.sh_rest};
  return rules;
}

}  // namespace stipple
