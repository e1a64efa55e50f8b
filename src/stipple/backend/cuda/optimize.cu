// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step of every parameter (math/adam.glsl), a thread a number, one array after the other.
#include "stipple/backend/cuda/adam.cuh"
#include "stipple/backend/cuda/cuda_backend.h"

namespace stipple {

namespace {

constexpr int kThreads = 256;

enum class Penalty { kNone, kOpacity, kScale };

template <Penalty kPenalty>
__global__ void __launch_bounds__(kThreads)
    adam_kernel(AdamArrays arrays, const float* gradient, std::size_t count, unsigned per_gaussian,
                unsigned base_floats, float base_rate, float rest_rate, float penalty, AdamSettings settings,
                const ProjectedSplat* splats) {
  const std::size_t at = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count) return;
  if (settings.visible_only && !(splats[at / per_gaussian].splat.opacity > 0)) return;
  const float value = arrays.value[at];
  float g = gradient[at];
  if (kPenalty == Penalty::kOpacity && penalty != 0) g = g + M::opacity_penalty_vjp(value, penalty);
  if (kPenalty == Penalty::kScale && penalty != 0) g = g + M::scale_penalty_vjp(value, penalty);
  adam_in_place(arrays, at, g, at % per_gaussian < base_floats ? base_rate : rest_rate, settings.rule);
}

}  // namespace

void CudaBackend::optimize(DeviceGaussians& g, const DeviceGaussians& dL_dgaussians,
                           const Projection& projection, AdamMoments& moments, const AdamOptions& options) {
  if (g.size() == 0) return;
  const AdamSettings s = adam_settings(options, g.size());
  DeviceGaussians &m = moments.first, &v = moments.second;
  const auto run = [&](auto kernel, AdamArrays arrays, const auto& gradient, std::size_t elements, float rate,
                       float rest, float penalty) {
    const std::size_t floats = gradient.kElementBytes / sizeof(float), count = gradient.size() * floats;
    kernel<<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
        arrays, reinterpret_cast<const float*>(pointer(gradient)), count,
        static_cast<unsigned>(elements * floats), static_cast<unsigned>(floats), rate, rest, penalty, s,
        pointer(projection.splat));
  };
  const auto plain = adam_kernel<Penalty::kNone>;
  run(plain, adam_arrays(g.mean, m.mean, v.mean), dL_dgaussians.mean, 1, s.mean, 0.0f, 0.0f);
  run(adam_kernel<Penalty::kScale>, adam_arrays(g.log_scale, m.log_scale, v.log_scale),
      dL_dgaussians.log_scale, 1, s.log_scale, 0.0f, s.scale_penalty);
  run(plain, adam_arrays(g.rotation, m.rotation, v.rotation), dL_dgaussians.rotation, 1, s.rotation, 0.0f,
      0.0f);
  run(adam_kernel<Penalty::kOpacity>, adam_arrays(g.logit_opacity, m.logit_opacity, v.logit_opacity),
      dL_dgaussians.logit_opacity, 1, s.logit_opacity, 0.0f, s.opacity_penalty);
  run(plain, adam_arrays(g.sh, m.sh, v.sh), dL_dgaussians.sh, static_cast<std::size_t>(g.sh_count()),
      s.sh_base, s.sh_rest, 0.0f);
  check(cudaGetLastError(), "start optimize");
}

}  // namespace stipple
