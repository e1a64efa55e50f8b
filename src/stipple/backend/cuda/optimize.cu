// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step of every parameter (math/adam.glsl), one thread per float, one launch per array of
// moments.
#include <algorithm>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/adam.cuh"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 256;

// The floats of a Gaussian whose moments are in one array: `width` of the `row` floats that it has in an
// array of parameters, starting at `column`.
struct Columns {
  unsigned row, column, width;
};

template <Penalty kPenalty, class Word>
__global__ void __launch_bounds__(kThreads)
    adam_kernel(float* values, Word* moments, std::uint32_t key, const float* gradient, std::size_t count,
                Columns columns, float rate, float penalty, M::AdamRule rule, bool visible_only,
                const Vec2f* view_statistics, const ViewStatus* status, int view_count) {
  const std::size_t word = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (word >= count || !may_update(status, view_count)) return;
  const std::size_t gaussian = word / columns.width;
  if (visible_only && !(view_statistics[gaussian].y > 0)) return;
  const std::size_t at = gaussian * columns.row + columns.column + word % columns.width;
  const float value = values[at];
  float g = gradient[at];
  if (kPenalty == Penalty::kOpacity) g = g + M::opacity_penalty_vjp(value, penalty);
  if (kPenalty == Penalty::kScale) g = g + M::scale_penalty_vjp(value, penalty);
  adam_step(values[at], moments[word], g, rate, rule,
            M::rounding_bits(key, static_cast<std::uint32_t>(word)));
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
  const std::size_t gaussian_count = state.gaussians.size();
  if (gaussian_count == 0) return;
  const auto view_count = static_cast<int>(mine.view_ids.size());
  const AdamSettings s = adam_settings(options, loss, state.size_of_model(), std::max(view_count, 1));
  const auto run = [&](auto kernel, float* value, auto* moments, std::uint32_t key, const auto& gradient,
                       Columns columns, float rate, float penalty, bool visible_only) {
    const std::size_t count = gaussian_count * columns.width;
    kernel<<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
        value, moments, key, reinterpret_cast<const float*>(pointer(gradient)), count, columns, rate, penalty,
        s.rule, visible_only, pointer(sum.view_statistics), pointer(mine.status), view_count);
  };
  const auto run_whole = [&](const AdamArrays& arrays, const auto& gradient, unsigned row,
                             const ParameterRule& rule) {
    const auto with = [&](auto kernel) {
      run(kernel, arrays.value, arrays.moments, arrays.key, gradient, {row, 0, row}, rule.rate,
          rule.penalty_weight, s.visible_only);
    };
    switch (rule.penalty) {
      case Penalty::kNone:
        return with(adam_kernel<Penalty::kNone, std::uint32_t>);
      case Penalty::kOpacity:
        return with(adam_kernel<Penalty::kOpacity, std::uint32_t>);
      case Penalty::kScale:
        return with(adam_kernel<Penalty::kScale, std::uint32_t>);
    }
  };
  const StepArrays arrays = step_arrays(state, options);
  const DeviceGaussians& d = sum.gaussians;
  run_whole(arrays.mean, d.mean, 3, s.of.mean);
  run_whole(arrays.log_scale, d.log_scale, 3, s.of.log_scale);
  run_whole(arrays.rotation, d.rotation, 4, s.of.rotation);
  run_whole(arrays.logit_opacity, d.logit_opacity, 1, s.of.logit_opacity);
  const HarmonicArrays& sh = arrays.sh;
  const auto rest = static_cast<unsigned>(state.moments.sh_rest_count());
  run(adam_kernel<Penalty::kNone, std::uint32_t>, sh.value, sh.base, sh.base_key, d.sh, {3 + rest, 0, 3},
      s.of.sh.rate, 0, s.harmonics_of_visible_only);
  if (rest > 0)
    run(adam_kernel<Penalty::kNone, std::uint16_t>, sh.value, sh.rest, sh.rest_key, d.sh, {3 + rest, 3, rest},
        s.of.sh.rest_rate, 0, s.harmonics_of_visible_only);
  if (!sum.view_statistics.empty() && !state.statistics.empty())
    add_statistics_kernel<<<blocks_for(gaussian_count, kThreads), kThreads, 0, stream()>>>(
        pointer(sum.view_statistics), gaussian_count, pointer(mine.status), view_count,
        pointer(state.statistics));
  if (is_on_host(sh.value)) context_->host_has_changed();
  check(cudaGetLastError(), "launch optimize");
  mine.events.record(Stage::kOptimize, stream());
}

}  // namespace stipple::cuda
