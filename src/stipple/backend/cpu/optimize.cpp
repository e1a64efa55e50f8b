// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step for every parameter (math/adam.glsl), a vector of parameters at a time. It reads
// four arrays and writes three, and is limited by memory bandwidth.
#include "stipple/backend/adam_rule.h"
#include "stipple/backend/cpu/shared/adam_step.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/optimize.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/shared/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

using ML = Math<Lanes>;

// Adds the gradient of the group's penalty. M is the shared maths over T.
template <Penalty kPenalty, class M, class T>
HWY_INLINE T with_penalty(T gradient, T value, float weight) {
  if constexpr (kPenalty == Penalty::kOpacity) return gradient + M::opacity_penalty_vjp(value, T(weight));
  if constexpr (kPenalty == Penalty::kScale) return gradient + M::scale_penalty_vjp(value, T(weight));
  return gradient;
}

template <Penalty kPenalty>
void adam_range_with(const AdamStep::Group& g, std::size_t begin, std::size_t end, const float* gradient,
                     const stipple::Math<float>::AdamRule& rule) {
  using M1 = stipple::Math<float>;
  ML::AdamRule r{0, rule.beta1, rule.beta2, rule.epsilon, rule.inverse_correction1, rule.inverse_correction2};
  const std::size_t period = g.per_gaussian * kMaxGroup;
  std::size_t phase = begin % period, i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    r.rate = load(&g.rates[phase]);
    phase += kLanes;
    if (phase >= period) phase -= period;
    const Lanes value = load(g.value + i);
    const ML::AdamParameter p =
        ML::adam({value, load(g.first_moment + i), load(g.second_moment + i)},
                 with_penalty<kPenalty, ML>(load(gradient + (i - begin)), value, g.penalty_weight), r);
    store(p.value, g.value + i);
    store(p.first_moment, g.first_moment + i);
    store(p.second_moment, g.second_moment + i);
  }
  for (; i < end; ++i) {
    M1::AdamRule one = rule;
    one.rate = g.rates[i % period];
    const auto p =
        M1::adam({g.value[i], g.first_moment[i], g.second_moment[i]},
                 with_penalty<kPenalty, M1>(gradient[i - begin], g.value[i], g.penalty_weight), one);
    g.value[i] = p.value;
    g.first_moment[i] = p.first_moment;
    g.second_moment[i] = p.second_moment;
  }
}

// Updates parameters [begin, end); gradient[0] belongs to `begin`. Either `begin` is the first parameter of a
// Gaussian whose index is a multiple of kMaxGroup, or the range lies within one Gaussian.
void adam_range(const AdamStep::Group& g, std::size_t begin, std::size_t end, const float* gradient,
                const stipple::Math<float>::AdamRule& rule) {
  if (g.penalty == Penalty::kOpacity)
    return adam_range_with<Penalty::kOpacity>(g, begin, end, gradient, rule);
  if (g.penalty == Penalty::kScale) return adam_range_with<Penalty::kScale>(g, begin, end, gradient, rule);
  adam_range_with<Penalty::kNone>(g, begin, end, gradient, rule);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(adam_range);

namespace {

// The learning rate of every float of kMaxGroup Gaussians. This period is a multiple of every vector width.
std::vector<float> rate_pattern(std::size_t per_gaussian, std::size_t base_count, float base, float rest) {
  std::vector<float> rates((kMaxGroup + 1) * per_gaussian + kMaxGroup);
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = i % per_gaussian < base_count ? base : rest;
  return rates;
}

template <class T>
float* floats(DeviceArray<T>& array) {
  return reinterpret_cast<float*>(host(array).data());
}

}  // namespace

AdamStep::AdamStep(DeviceGaussians& g, AdamMoments& moments, const AdamOptions& options,
                   const LossOptions& loss, int view_count)
    : rule_(adam_rule(options)), visible_only_(options.visible_only) {
  ParameterRules rules = parameter_rules(options, loss, g.size(), view_count);
  for_each_parameter(
      [&](int elements, auto& value, auto& first, auto& second, const ParameterRule& rule) {
        const std::size_t floats_each = value.kElementBytes / sizeof(float),
                          per_gaussian = static_cast<std::size_t>(elements) * floats_each;
        groups_.push_back({floats(value), floats(first), floats(second), per_gaussian,
                           rate_pattern(per_gaussian, floats_each, rule.rate, rule.rest_rate), rule.penalty,
                           rule.penalty_weight});
      },
      g, moments.first, moments.second, rules);
}

void AdamStep::run_all(std::size_t begin, std::size_t end, const ParameterGradient& gradient) const {
  auto step = HWY_DYNAMIC_DISPATCH(adam_range);
  auto group = groups_.begin();
  for_each_parameter(
      [&](int, const float* from) {
        step(*group, begin * group->per_gaussian, end * group->per_gaussian, from, rule_);
        ++group;
      },
      gradient);
}

void CpuBackend::optimize(TrainState& state, const GradientSum& sum, const AdamOptions& options,
                          const LossOptions& loss, Pass& pass) {
  check_update(sum, options);
  CpuPass& own = cpu_pass(pass);
  if (!own.may_update()) return;
  ParameterGradient gradient;
  gradient.sh_degree = sum.gaussians.sh_degree;
  for_each_parameter(  // AdamStep does not write through these pointers
      [](int, float*& to, const auto& from) {
        to = const_cast<float*>(reinterpret_cast<const float*>(host(from).data()));
      },
      gradient, sum.gaussians);
  const AdamStep adam(state.gaussians, state.moments, options, loss, own.projected_count());
  auto view_statistics = host(sum.view_statistics);
  auto statistics = host(state.statistics);
  constexpr std::size_t kChunk = 64 * kMaxGroup;
  const std::size_t count = state.gaussians.size();
  parallel_for((count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    std::size_t begin = chunk * kChunk, end = std::min(count, begin + kChunk);
    adam.run(begin, end, gradient.from(begin), [&](std::size_t i) { return view_statistics[i].y > 0; });
    if (!view_statistics.empty() && !statistics.empty())
      for (std::size_t i = begin; i < end; ++i) statistics[i] = statistics[i] + view_statistics[i];
  });
  own.clock.lap(Stage::kOptimize);
}

}  // namespace stipple::cpu
#endif
