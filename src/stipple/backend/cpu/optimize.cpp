// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step for every parameter (math/adam.glsl), a vector of parameters at a time.
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

// Adds the gradient of the group's penalty.
template <Penalty kPenalty>
HWY_INLINE Lanes with_penalty(Lanes gradient, Lanes value, float weight) {
  if constexpr (kPenalty == Penalty::kOpacity)
    return gradient + ML::opacity_penalty_vjp(value, Lanes(weight));
  if constexpr (kPenalty == Penalty::kScale) return gradient + ML::scale_penalty_vjp(value, Lanes(weight));
  return gradient;
}

HWY_INLINE ML::AdamParameter unpacked(Lanes value, const std::uint32_t* moments) {
  return ML::with_wide_moments(value, load(moments));
}
HWY_INLINE ML::AdamParameter unpacked(Lanes value, const std::uint16_t* moments) {
  return ML::with_narrow_moments(value, load(moments));
}
HWY_INLINE void pack(const ML::AdamParameter& p, LaneBits random, std::uint32_t* moments) {
  store(ML::wide_moments(p, random), moments);
}
HWY_INLINE void pack(const ML::AdamParameter& p, LaneBits random, std::uint16_t* moments) {
  store(ML::narrow_moments(p, random), moments);
}

// The parameters of one vector, with gradients and moments.
template <class Word>
struct AdamPointers {
  float* value;
  Word* moments;
  const float* gradient;
  std::uint32_t key;  // with which rounding_bits() gives the random word of the first

  HWY_INLINE AdamPointers at(std::size_t i) const {
    return {value + i, moments + i, gradient + i,
            stipple::Math<float>::rounding_bits(key, static_cast<std::uint32_t>(i))};
  }
};

template <Penalty kPenalty, class Word>
HWY_INLINE ML::AdamParameter updated(const AdamPointers<Word>& p, float penalty_weight,
                                     const ML::AdamRule& rule) {
  const Lanes value = load(p.value);
  return ML::adam(unpacked(value, p.moments), with_penalty<kPenalty>(load(p.gradient), value, penalty_weight),
                  rule);
}

template <class Word>
HWY_INLINE void put(const ML::AdamParameter& next, const AdamPointers<Word>& p) {
  store(next.value, p.value);
  pack(next, ML::rounding_bits(p.key, consecutive(0)), p.moments);
}

// Updates `count` parameters, at least as many as a vector has. If the last vector does not end with them, it
// begins earlier, and what it has in common with the one before is computed twice, from the same numbers: a
// vector is stored after the next one has been loaded.
template <Penalty kPenalty, class Word>
HWY_INLINE void adam_range(const AdamPointers<Word>& p, std::size_t count, float penalty_weight,
                           const ML::AdamRule& rule) {
  AdamPointers<Word> pending = p;
  ML::AdamParameter pending_next = updated<kPenalty>(p, penalty_weight, rule);
  for (std::size_t i = kLanes; i < count; i += kLanes) {
    const AdamPointers<Word> here = p.at(std::min(i, count - kLanes));
    const ML::AdamParameter next = updated<kPenalty>(here, penalty_weight, rule);
    put(pending_next, pending);
    pending = here;
    pending_next = next;
  }
  put(pending_next, pending);
}

// The same for any number of parameters. Fewer than a vector has are updated in a copy that fills one.
template <Penalty kPenalty, class Word>
HWY_INLINE void adam_consecutive(AdamPointers<Word> p, std::size_t count, float penalty_weight,
                                 const ML::AdamRule& rule) {
  alignas(64) float value[kLanes] = {}, gradient[kLanes] = {};
  alignas(64) Word moments[kLanes] = {};
  const AdamPointers<Word> original = p;
  const bool is_copied = count < kLanes;
  if (is_copied) {
    std::copy_n(p.value, count, value);
    std::copy_n(p.gradient, count, gradient);
    std::copy_n(p.moments, count, moments);
    p = {value, moments, gradient, p.key};
  }
  adam_range<kPenalty>(p, is_copied ? kLanes : count, penalty_weight, rule);
  if (is_copied) {
    std::copy_n(value, count, original.value);
    std::copy_n(moments, count, original.moments);
  }
}

// Updates a few columns of up to kMaxGroup rows, in a copy without gaps; p is that of the first row.
template <Penalty kPenalty, class Word>
HWY_INLINE void adam_columns(const AdamStep::Group& g, const AdamPointers<Word>& p, std::size_t rows,
                             const ML::AdamRule& rule) {
  alignas(64) float value[kLanes * kMaxGroup], gradient[kLanes * kMaxGroup];
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < g.width; ++k) {
      value[i * g.width + k] = p.value[i * g.row + k];
      gradient[i * g.width + k] = p.gradient[i * g.row + k];
    }
  adam_consecutive<kPenalty>(AdamPointers<Word>{value, p.moments, gradient, p.key}, rows * g.width,
                             g.penalty_weight, rule);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t k = 0; k < g.width; ++k) p.value[i * g.row + k] = value[i * g.width + k];
}

// Updates `count` Gaussians; p is that of the first one's first column.
template <Penalty kPenalty, class Word>
HWY_INLINE void adam_rows(const AdamStep::Group& g, const AdamPointers<Word>& p, std::size_t count,
                          const ML::AdamRule& rule) {
  if (g.width == g.row) return adam_consecutive<kPenalty>(p, count * g.width, g.penalty_weight, rule);
  const std::size_t at_once = g.width < kLanes ? kMaxGroup : 1;
  for (std::size_t i = 0; i < count; i += at_once) {
    const AdamPointers<Word> moments = p.at(i * g.width);
    const AdamPointers<Word> here{p.value + i * g.row, moments.moments, p.gradient + i * g.row, moments.key};
    if (at_once == 1)
      adam_range<kPenalty>(here, g.width, g.penalty_weight, rule);
    else
      adam_columns<kPenalty>(g, here, std::min(count - i, at_once), rule);
  }
}

template <Penalty kPenalty>
void adam_group_with(const AdamStep::Group& g, std::size_t begin, std::size_t end, const float* gradient,
                     const ML::AdamRule& rule) {
  float* value = g.value + begin * g.row + g.column;
  const std::size_t word = begin * g.width;
  const std::uint32_t key = stipple::Math<float>::rounding_bits(g.key, static_cast<std::uint32_t>(word));
  if (g.narrow)
    adam_rows<kPenalty>(g, AdamPointers<std::uint16_t>{value, g.narrow + word, gradient + g.column, key},
                        end - begin, rule);
  else
    adam_rows<kPenalty>(g, AdamPointers<std::uint32_t>{value, g.wide + word, gradient + g.column, key},
                        end - begin, rule);
}

// Updates a group of Gaussians [begin, end); gradient[0] belongs to `begin`.
void adam_group(const AdamStep::Group& g, std::size_t begin, std::size_t end, const float* gradient,
                const stipple::Math<float>::AdamRule& r) {
  const ML::AdamRule rule{g.rate, r.beta1, r.beta2, r.epsilon, r.inverse_correction1, r.inverse_correction2};
  if (g.penalty == Penalty::kOpacity)
    return adam_group_with<Penalty::kOpacity>(g, begin, end, gradient, rule);
  if (g.penalty == Penalty::kScale) return adam_group_with<Penalty::kScale>(g, begin, end, gradient, rule);
  adam_group_with<Penalty::kNone>(g, begin, end, gradient, rule);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(adam_group);

namespace {

template <class T>
float* floats(DeviceArray<T>& array) {
  return reinterpret_cast<float*>(host(array).data());
}

}  // namespace

AdamStep::AdamStep(TrainState& state, const AdamOptions& options, const LossOptions& loss, int view_count)
    : rule_(adam_rule(options)) {
  using Gradient = GaussianArrays<FloatPointer>;
  DeviceGaussians& g = state.gaussians;
  AdamMoments& m = state.moments;
  const ParameterRules rules = parameter_rules(options, loss, state.size_of_model(), view_count);
  const MomentKeys keys = moment_keys(options.step, state.part, g.sh_degree);
  const auto add = [&](auto gradient, auto& value, std::size_t width, auto& moments, std::uint32_t key,
                       const ParameterRule& rule) {
    groups_.push_back({gradient, floats(value), width, 0, width, host(moments).data(), nullptr, key,
                       rule.rate, rule.penalty, rule.penalty_weight});
  };
  add(&Gradient::mean, g.mean, 3, m.mean, keys.mean, rules.mean);
  add(&Gradient::log_scale, g.log_scale, 3, m.log_scale, keys.log_scale, rules.log_scale);
  add(&Gradient::rotation, g.rotation, 4, m.rotation, keys.rotation, rules.rotation);
  add(&Gradient::logit_opacity, g.logit_opacity, 1, m.logit_opacity, keys.logit_opacity, rules.logit_opacity);
  const std::size_t shape_groups = groups_.size();
  const auto rest = static_cast<std::size_t>(m.sh_rest_count());
  if (rest > 0)  // before the base colours, which it brings into the cache
    groups_.push_back({&Gradient::sh, floats(g.sh), 3 + rest, 3, rest, nullptr, host(m.sh_rest).data(),
                       keys.sh_rest, rules.sh.rest_rate, rules.sh.penalty, rules.sh.penalty_weight});
  add(&Gradient::sh, g.sh, 3, m.sh_base, keys.sh_base, rules.sh);
  groups_.back().row = 3 + rest;
  first_of_seen_ = options.visible_only ? 0 : options.visible_harmonics_only ? shape_groups : groups_.size();
}

void AdamStep::run_groups(std::size_t first, std::size_t last, std::size_t begin, std::size_t end,
                          const ParameterGradient& gradient) const {
  const auto step = HWY_DYNAMIC_DISPATCH(adam_group);
  for (std::size_t i = first; i < last; ++i)
    step(groups_[i], begin, end, gradient.*groups_[i].gradient, rule_);
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
  const AdamStep adam(state, options, loss, own.projected_count());
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
