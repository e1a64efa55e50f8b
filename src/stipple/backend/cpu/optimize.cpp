// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step of every parameter (math/adam.glsl), a vector of parameters at a time. It streams
// four arrays in and three out, and is as fast as the memory.
#include <cmath>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/optimize.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/lanes-inl.h"

#ifndef STIPPLE_OPTIMIZE_ONCE
#define STIPPLE_OPTIMIZE_ONCE
namespace stipple {

// Rates by position in a Gaussian's floats; a pattern this long repeats the rates of 16 Gaussians of any
// group, and a multiple of every vector width.
constexpr std::size_t kPatternGaussians = 16;

struct ParameterGroup {  // one parameter array as plain floats
  float* value;
  const float* gradient;
  float *first_moment, *second_moment;
  std::size_t per_gaussian;    // floats
  std::vector<float> pattern;  // rates of kPatternGaussians Gaussians, and room to load past the end
};

}  // namespace stipple
#endif

HWY_BEFORE_NAMESPACE();
namespace stipple {
namespace HWY_NAMESPACE {

using ML = Math<Lanes>;

// Parameters [begin, end); begin is the first of a Gaussian whose index is a multiple of kPatternGaussians,
// or the range lies within one Gaussian.
void adam_range(const ParameterGroup& g, std::size_t begin, std::size_t end,
                const stipple::Math<float>::AdamRule& rule) {
  ML::AdamRule r{0, rule.beta1, rule.beta2, rule.epsilon, rule.correction1, rule.correction2};
  const std::size_t period = g.per_gaussian * kPatternGaussians;
  std::size_t phase = begin % period, i = begin;
  for (; i + kLanes <= end; i += kLanes) {
    r.rate = load(&g.pattern[phase]);
    phase += kLanes;
    if (phase >= period) phase -= period;
    const ML::AdamParameter p = ML::adam(
        {load(g.value + i), load(g.first_moment + i), load(g.second_moment + i)}, load(g.gradient + i), r);
    store(p.value, g.value + i);
    store(p.first_moment, g.first_moment + i);
    store(p.second_moment, g.second_moment + i);
  }
  for (; i < end; ++i) {
    stipple::Math<float>::AdamRule one = rule;
    one.rate = g.pattern[i % period];
    const auto p =
        stipple::Math<float>::adam({g.value[i], g.first_moment[i], g.second_moment[i]}, g.gradient[i], one);
    g.value[i] = p.value;
    g.first_moment[i] = p.first_moment;
    g.second_moment[i] = p.second_moment;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple {

HWY_EXPORT(adam_range);

namespace {

std::vector<float> rate_pattern(std::size_t per_gaussian, std::size_t base_count, float base, float rest) {
  std::vector<float> pattern((kPatternGaussians + 1) * per_gaussian + kPatternGaussians);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = i % per_gaussian < base_count ? base : rest;
  return pattern;
}

template <class T>
ParameterGroup group(DeviceArray<T>& value, const DeviceArray<T>& gradient, DeviceArray<T>& first,
                     DeviceArray<T>& second, float rate, std::size_t elements = 1, float rest = 0) {
  constexpr std::size_t floats = sizeof(T) / sizeof(float);
  auto as_floats = [](auto span) { return reinterpret_cast<float*>(span.data()); };
  return {as_floats(host(value)), reinterpret_cast<const float*>(host(gradient).data()),
          as_floats(host(first)), as_floats(host(second)),
          elements * floats,      rate_pattern(elements * floats, floats, rate, rest)};
}

}  // namespace

void CpuBackend::optimize(DeviceGaussians& g, const DeviceGaussians& dL, const Projection& projection,
                          AdamMoments& moments, const AdamOptions& o) {
  DeviceGaussians &m = moments.first, &v = moments.second;
  const ParameterGroup groups[] = {
      group(g.mean, dL.mean, m.mean, v.mean, o.mean),
      group(g.log_scale, dL.log_scale, m.log_scale, v.log_scale, o.log_scale),
      group(g.rotation, dL.rotation, m.rotation, v.rotation, o.rotation),
      group(g.logit_opacity, dL.logit_opacity, m.logit_opacity, v.logit_opacity, o.logit_opacity),
      group(g.sh, dL.sh, m.sh, v.sh, o.sh_base, static_cast<std::size_t>(g.sh_count()), o.sh_rest),
  };
  const Math<float>::AdamRule rule{0,
                                   o.beta1,
                                   o.beta2,
                                   o.epsilon,
                                   static_cast<float>(1 - std::pow(static_cast<double>(o.beta1), o.step)),
                                   static_cast<float>(1 - std::pow(static_cast<double>(o.beta2), o.step))};
  auto splats = host(projection.splat);
  auto step = HWY_DYNAMIC_DISPATCH(adam_range);
  std::size_t chunk = 64 * kPatternGaussians, count = g.size();
  parallel_for((count + chunk - 1) / chunk, [&](std::size_t c) {
    std::size_t begin = c * chunk, end = std::min(count, begin + chunk);
    for (const ParameterGroup& each : groups) {
      if (!o.visible_only) {
        step(each, begin * each.per_gaussian, end * each.per_gaussian, rule);
        continue;
      }
      for (std::size_t i = begin; i < end; ++i)
        if (splats[i].splat.opacity > 0) step(each, i * each.per_gaussian, (i + 1) * each.per_gaussian, rule);
    }
  });
}

}  // namespace stipple
#endif
