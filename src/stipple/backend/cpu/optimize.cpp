// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step of every parameter.
#include <cmath>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

using M = Math<float>;

struct Group {  // one parameter array as plain floats
  float* value;
  const float* gradient;
  float* first_moment;
  float* second_moment;
  std::size_t per_gaussian;  // floats
  std::size_t base_count;    // of which the first ones use `base`, the others `rest`
  M::AdamRule base, rest;
};

void step(const Group& g, std::size_t begin, std::size_t end, const M::AdamRule& rule) {
  for (std::size_t i = begin; i < end; ++i) {
    M::AdamParameter p = M::adam({g.value[i], g.first_moment[i], g.second_moment[i]}, g.gradient[i], rule);
    g.value[i] = p.value;
    g.first_moment[i] = p.first_moment;
    g.second_moment[i] = p.second_moment;
  }
}

void step_gaussians(const Group& g, std::size_t begin, std::size_t end, const ProjectedSplat* visible_only) {
  if (!visible_only && g.base_count == g.per_gaussian)
    return step(g, begin * g.per_gaussian, end * g.per_gaussian, g.base);
  for (std::size_t i = begin; i < end; ++i) {
    if (visible_only && visible_only[i].splat.opacity == 0) continue;
    std::size_t first = i * g.per_gaussian;
    step(g, first, first + g.base_count, g.base);
    step(g, first + g.base_count, first + g.per_gaussian, g.rest);
  }
}

M::AdamRule rule(const AdamOptions& options, float rate) {
  return {rate,
          options.beta1,
          options.beta2,
          options.epsilon,
          static_cast<float>(1 - std::pow(static_cast<double>(options.beta1), options.step)),
          static_cast<float>(1 - std::pow(static_cast<double>(options.beta2), options.step))};
}

template <class T>
Group group(DeviceArray<T>& value, const DeviceArray<T>& gradient, DeviceArray<T>& first,
            DeviceArray<T>& second, M::AdamRule base, std::size_t elements = 1) {
  constexpr std::size_t floats = sizeof(T) / sizeof(float);
  auto as_floats = [](auto span) { return reinterpret_cast<float*>(span.data()); };
  return {as_floats(host(value)),
          reinterpret_cast<const float*>(host(gradient).data()),
          as_floats(host(first)),
          as_floats(host(second)),
          elements * floats,
          elements * floats,
          base,
          base};
}

}  // namespace

void CpuBackend::optimize(DeviceGaussians& g, const DeviceGaussians& dL, const Projection& projection,
                          AdamMoments& moments, const AdamOptions& o) {
  DeviceGaussians &m = moments.first, &v = moments.second;
  Group sh = group(g.sh, dL.sh, m.sh, v.sh, rule(o, o.sh_base), static_cast<std::size_t>(g.sh_count()));
  sh.base_count = 3;
  sh.rest = rule(o, o.sh_rest);
  const Group groups[] = {
      group(g.mean, dL.mean, m.mean, v.mean, rule(o, o.mean)),
      group(g.log_scale, dL.log_scale, m.log_scale, v.log_scale, rule(o, o.log_scale)),
      group(g.rotation, dL.rotation, m.rotation, v.rotation, rule(o, o.rotation)),
      group(g.logit_opacity, dL.logit_opacity, m.logit_opacity, v.logit_opacity, rule(o, o.logit_opacity)),
      sh,
  };
  const ProjectedSplat* visible = o.visible_only ? host(projection.splat).data() : nullptr;
  for (const Group& each : groups)
    parallel_ranges(g.size(), 1024,
                    [&](std::size_t begin, std::size_t end) { step_gaussians(each, begin, end, visible); });
}

}  // namespace stipple
