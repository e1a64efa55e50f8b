// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step of every parameter (math/adam.glsl), a vector of parameters at a time. It streams
// four arrays in and three out, and is as fast as the memory.
#include "stipple/backend/adam_rule.h"
#include "stipple/backend/cpu/parameter_step.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/optimize.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stipple {
namespace HWY_NAMESPACE {

using ML = Math<Lanes>;

// The gradient with that of the group's penalty. M is the maths over T.
template <AdamStep::Penalty kPenalty, class M, class T>
HWY_INLINE T with_penalty(T gradient, T value, float weight) {
  if constexpr (kPenalty == AdamStep::Penalty::kOpacity)
    return gradient + M::opacity_penalty_vjp(value, T(weight));
  if constexpr (kPenalty == AdamStep::Penalty::kScale)
    return gradient + M::scale_penalty_vjp(value, T(weight));
  return gradient;
}

template <AdamStep::Penalty kPenalty>
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

// Parameters [begin, end) and their gradients; begin is the first of a Gaussian whose index is a multiple of
// kMaxGroup, or the range lies within one Gaussian.
void adam_range(const AdamStep::Group& g, std::size_t begin, std::size_t end, const float* gradient,
                const stipple::Math<float>::AdamRule& rule) {
  using P = AdamStep::Penalty;
  if (g.penalty == P::kOpacity) return adam_range_with<P::kOpacity>(g, begin, end, gradient, rule);
  if (g.penalty == P::kScale) return adam_range_with<P::kScale>(g, begin, end, gradient, rule);
  adam_range_with<P::kNone>(g, begin, end, gradient, rule);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple {

HWY_EXPORT(adam_range);

namespace {

// The rates of kMaxGroup Gaussians by position in their floats: a multiple of every vector width.
std::vector<float> rate_pattern(std::size_t per_gaussian, std::size_t base_count, float base, float rest) {
  std::vector<float> rates((kMaxGroup + 1) * per_gaussian + kMaxGroup);
  for (std::size_t i = 0; i < rates.size(); ++i) rates[i] = i % per_gaussian < base_count ? base : rest;
  return rates;
}

template <class T>
float* floats(DeviceArray<T>& array) {
  return reinterpret_cast<float*>(host(array).data());
}

template <class T>
AdamStep::Group group(DeviceArray<T>& value, DeviceArray<T>& first, DeviceArray<T>& second,
                      float* ParameterGradient::*gradient, float rate, std::size_t elements = 1,
                      float rest = 0) {
  constexpr std::size_t kFloats = sizeof(T) / sizeof(float);
  return {floats(value),
          floats(first),
          floats(second),
          elements * kFloats,
          gradient,
          rate_pattern(elements * kFloats, kFloats, rate, rest),
          AdamStep::Penalty::kNone,
          0};
}

}  // namespace

AdamStep::AdamStep(DeviceGaussians& g, AdamMoments& moments, const AdamOptions& o, const LossOptions& loss,
                   int view_count)
    : rule_(adam_rule(o)), sh_count_(static_cast<std::size_t>(g.sh_count())), visible_only_(o.visible_only) {
  using G = ParameterGradient;
  DeviceGaussians &m = moments.first, &v = moments.second;
  groups_ = {
      group(g.mean, m.mean, v.mean, &G::mean, o.mean),
      group(g.log_scale, m.log_scale, v.log_scale, &G::log_scale, o.log_scale),
      group(g.rotation, m.rotation, v.rotation, &G::rotation, o.rotation),
      group(g.logit_opacity, m.logit_opacity, v.logit_opacity, &G::logit_opacity, o.logit_opacity),
      group(g.sh, m.sh, v.sh, &G::sh, o.sh_base, sh_count_, o.sh_rest),
  };
  const PenaltyWeights weights = penalty_weights(loss, g.size(), view_count);
  const auto penalise = [](Group& group, Penalty penalty, float weight) {
    if (weight == 0) return;
    group.penalty = penalty;
    group.penalty_weight = weight;
  };
  penalise(groups_[1], Penalty::kScale, weights.scale);
  penalise(groups_[3], Penalty::kOpacity, weights.opacity);
}

void AdamStep::run_all(std::size_t begin, std::size_t end, const ParameterGradient& gradient) const {
  auto step = HWY_DYNAMIC_DISPATCH(adam_range);
  for (const Group& each : groups_) {
    const std::size_t n = each.per_gaussian;
    step(each, begin * n, end * n, gradient.*each.gradient, rule_);
  }
}

void AdamStep::run_one(std::size_t gaussian, const ParameterGradient& gradient) const {
  run_all(gaussian, gaussian + 1, gradient);
}

void CpuBackend::optimize(TrainState& state, const GradientSum& sum, const AdamOptions& options,
                          const LossOptions& loss, Pass& pass) {
  CpuPass& own = cpu_pass(pass);
  if (!own.may_update()) return;
  auto floats_of = [](const auto& array) {  // only read
    return const_cast<float*>(reinterpret_cast<const float*>(host(array).data()));
  };
  const ParameterGradient gradient{floats_of(sum.gaussians.mean),
                                   floats_of(sum.gaussians.log_scale),
                                   floats_of(sum.gaussians.rotation),
                                   floats_of(sum.gaussians.logit_opacity),
                                   floats_of(sum.gaussians.sh),
                                   nullptr,
                                   nullptr};
  const AdamStep adam(state.gaussians, state.moments, options, loss, std::max(own.view_count, 1));
  auto observed = host(sum.observed);
  auto statistics = host(state.statistics);
  constexpr std::size_t kChunk = 64 * kMaxGroup;
  const std::size_t count = state.gaussians.size();
  parallel_for((count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    std::size_t begin = chunk * kChunk, end = std::min(count, begin + kChunk);
    adam.run(begin, end, gradient.from(begin, static_cast<std::size_t>(state.gaussians.sh_count())),
             [&](std::size_t i) { return observed[i].y > 0; });
    if (!observed.empty() && !statistics.empty())
      for (std::size_t i = begin; i < end; ++i) statistics[i] = statistics[i] + observed[i];
  });
  own.clock.lap(Stage::kOptimize);
}

}  // namespace stipple
#endif
