// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step of every parameter (math/adam.glsl), one thread per float, one launch per array.
#include <algorithm>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/adam.cuh"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 256;

template <Penalty kPenalty>
__global__ void __launch_bounds__(kThreads)
    adam_kernel(AdamArrays arrays, const float* gradient, std::size_t count, unsigned per_gaussian,
                unsigned base_floats, float base_rate, float rest_rate, float penalty, AdamSettings settings,
                const Vec2f* view_statistics, const ViewStatus* status, int view_count) {
  const std::size_t at = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (at >= count || !may_update(status, view_count)) return;
  if (settings.visible_only && !(view_statistics[at / per_gaussian].y > 0)) return;
  const float value = arrays.value[at];
  float g = gradient[at];
  if (kPenalty == Penalty::kOpacity) g = g + M::opacity_penalty_vjp(value, penalty);
  if (kPenalty == Penalty::kScale) g = g + M::scale_penalty_vjp(value, penalty);
  adam_in_place(arrays, at, g, at % per_gaussian < base_floats ? base_rate : rest_rate, settings.rule);
}

__global__ void __launch_bounds__(kThreads)
    add_statistics_kernel(const Vec2f* view_statistics, std::size_t count, const ViewStatus* status,
                          int view_count, Vec2f* statistics) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count && may_update(status, view_count)) statistics[i] = statistics[i] + view_statistics[i];
}

}  // namespace

void CudaBackend::optimize(TrainState& state, const GradientSum& sum, const AdamOptions& options,
                           const LossOptions& loss, Pass& pass) {
  check_update(sum, options);
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  DeviceGaussians& g = state.gaussians;
  const std::size_t gaussian_count = g.size();
  if (gaussian_count == 0) return;
  const auto view_count = static_cast<int>(mine.view_ids.size());
  AdamSettings s = adam_settings(options, loss, gaussian_count, std::max(view_count, 1));
  const auto run = [&](auto kernel, const AdamArrays& arrays, const auto& gradient, int elements,
                       const ParameterRule& rule) {
    const std::size_t floats = gradient.kElementBytes / sizeof(float), count = gradient.size() * floats;
    kernel<<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
        arrays, reinterpret_cast<const float*>(pointer(gradient)), count,
        static_cast<unsigned>(elements) * static_cast<unsigned>(floats), static_cast<unsigned>(floats),
        rule.rate, rule.rest_rate, rule.penalty_weight, s, pointer(sum.view_statistics), pointer(mine.status),
        view_count);
  };
  StepArrays arrays = step_arrays(state);
  for_each_parameter(
      [&](int elements, const auto& gradient, const AdamArrays& to, const ParameterRule& rule) {
        switch (rule.penalty) {
          case Penalty::kNone:
            return run(adam_kernel<Penalty::kNone>, to, gradient, elements, rule);
          case Penalty::kOpacity:
            return run(adam_kernel<Penalty::kOpacity>, to, gradient, elements, rule);
          case Penalty::kScale:
            return run(adam_kernel<Penalty::kScale>, to, gradient, elements, rule);
        }
      },
      sum.gaussians, arrays, s.of);
  if (!sum.view_statistics.empty() && !state.statistics.empty())
    add_statistics_kernel<<<blocks_for(gaussian_count, kThreads), kThreads, 0, stream()>>>(
        pointer(sum.view_statistics), gaussian_count, pointer(mine.status), view_count,
        pointer(state.statistics));
  check(cudaGetLastError(), "launch optimize");
  mine.events.record(Stage::kOptimize, stream());
}

}  // namespace stipple::cuda
