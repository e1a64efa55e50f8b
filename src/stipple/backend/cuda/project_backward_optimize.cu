// SPDX-License-Identifier: Apache-2.0
// project_backward and optimize in one: the gradients of the parameters never leave the multiprocessor. A warp has
// 32 Gaussians; rows of coefficients, means and scales are streamed by whole warps, so that every byte is moved
// once, in order.
#include "stipple/backend/cuda/adam.cuh"
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/gaussian_backward.cuh"
#include "stipple/backend/cuda/observe.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple {

namespace {

constexpr int kThreads = 128;

struct StepArrays {
  AdamArrays mean, log_scale, rotation, logit_opacity, sh;
};

// What density control is told, or nothing.
struct Observation {
  Vec2f* sum;
  const Vec2f* absolute;  // or null: of the plain gradient
  Vec2f half_size;
};

// Adam over rows of three floats; `gradient` has a warp's, row by row.
template <bool kScalePenalty>
__device__ void step_rows_of_3(const AdamArrays& arrays, std::size_t first, unsigned active, const float* gradient,
                               float rate, const AdamSettings& settings) {
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    const int at = k * kWarp + lane_index();
    if (!(active >> (at / 3) & 1)) continue;
    const float value = arrays.value[3 * first + at];
    float g = gradient[at];
    if (kScalePenalty && settings.scale_penalty != 0) g = g + M::scale_penalty_vjp(value, settings.scale_penalty);
    adam_store(arrays, 3 * first + at, value, g, rate, settings.rule);
  }
}

__device__ void step_rotation(const AdamArrays& arrays, std::size_t i, Vec4f gradient, const AdamSettings& settings) {
  const auto load = [&](const float* from) { return reinterpret_cast<const float4*>(from)[i]; };
  const float4 value = load(arrays.value), m = load(arrays.first_moment), v = load(arrays.second_moment);
  M::AdamRule rule = settings.rule;
  rule.rate = settings.rotation;
  const auto step = [&](float x, float first, float second, float g) {
    M::AdamParameter p;
    p.value = x;
    p.first_moment = first;
    p.second_moment = second;
    return M::adam(p, g, rule);
  };
  const M::AdamParameter a = step(value.x, m.x, v.x, gradient.x), b = step(value.y, m.y, v.y, gradient.y),
                         c = step(value.z, m.z, v.z, gradient.z), d = step(value.w, m.w, v.w, gradient.w);
  reinterpret_cast<float4*>(arrays.value)[i] = make_float4(a.value, b.value, c.value, d.value);
  reinterpret_cast<float4*>(arrays.first_moment)[i] =
      make_float4(a.first_moment, b.first_moment, c.first_moment, d.first_moment);
  reinterpret_cast<float4*>(arrays.second_moment)[i] =
      make_float4(a.second_moment, b.second_moment, c.second_moment, d.second_moment);
}

template <int kDegree>
struct WarpScratch {
  CoefficientRows<kDegree> rows;
  CoefficientGradients<kDegree> coefficients;
  float mean[3 * kWarp], log_scale[3 * kWarp];
};

template <int kDegree>
__global__ void __launch_bounds__(kThreads)
    project_backward_optimize_kernel(GaussianPointers g, M::Pinhole camera, M::RenderSettings settings,
                                     const ProjectedSplat* splats, const Splat* dL_dsplat, StepArrays arrays,
                                     AdamSettings adam, Observation observation, const StepStatus* status) {
  __shared__ WarpScratch<kDegree> scratch[kThreads / kWarp];
  if (status->is_bad || status->has_overflowed) return;  // nothing may change
  auto& [rows, coefficients, mean, log_scale] = scratch[threadIdx.x / kWarp];
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const int lane = lane_index();
  const std::size_t first = i - lane;
  const SeenSplat seen = i < g.count ? load_seen(splats, i) : SeenSplat();
  const bool is_drawn = seen.opacity > 0;
  const unsigned active = __ballot_sync(kAllLanes, adam.visible_only ? is_drawn : i < g.count);
  if (active == 0) return;
  rows.load(g.sh + first * rows.kFloats, active);
  GaussianGradient d;
  M::HarmonicBasis basis;
  if (is_drawn) {
    const Splat dL = load_splat_gradient(dL_dsplat, i);
    if (observation.sum)
      add_observation(observation.absolute ? observation.absolute[i] : dL.mean_px, observation.half_size,
                      observation.sum[i]);
    d = gaussian_backward<kDegree>(g, i, camera, settings, seen, dL, rows, basis, nullptr, nullptr);
  }
  for (int c = 0; c < 3; ++c) {
    mean[3 * lane + c] = d.mean[c];
    log_scale[3 * lane + c] = d.log_scale[c];
  }
  coefficients.store(basis, d.sh_sum, is_drawn);  // and waits for the warp
  step_rows_of_3<false>(arrays.mean, first, active, mean, adam.mean, adam);
  step_rows_of_3<true>(arrays.log_scale, first, active, log_scale, adam.log_scale, adam);
  if (active >> lane & 1) {
    step_rotation(arrays.rotation, i, d.rotation, adam);
    const float logit = arrays.logit_opacity.value[i];
    float dL_dlogit = d.logit_opacity;
    if (adam.opacity_penalty != 0) dL_dlogit = dL_dlogit + M::opacity_penalty_vjp(logit, adam.opacity_penalty);
    adam_store(arrays.logit_opacity, i, logit, dL_dlogit, adam.logit_opacity, adam.rule);
  }
#pragma unroll 8
  for (int k = 0; k < rows.kFloats; ++k) {
    const int at = k * kWarp + lane, row = at / rows.kFloats, place = at % rows.kFloats;
    if (!(active >> row & 1)) continue;
    adam_store(arrays.sh, first * rows.kFloats + at, rows.value[row * rows.kStride + place],
               coefficients(row, place), place < 3 ? adam.sh_base : adam.sh_rest, adam.rule);
  }
}

}  // namespace

void CudaBackend::optimize_into(DeviceGaussians& g, const View& view, const Projection& projection,
                                const SplatGradient& dL_dsplat, AdamMoments& moments, const AdamOptions& options,
                                DensityStatistics* statistics) {
  const std::size_t count = g.size();
  if (count == 0) return;
  DeviceGaussians &m = moments.first, &v = moments.second;
  const StepArrays arrays{adam_arrays(g.mean, m.mean, v.mean), adam_arrays(g.log_scale, m.log_scale, v.log_scale),
                          adam_arrays(g.rotation, m.rotation, v.rotation),
                          adam_arrays(g.logit_opacity, m.logit_opacity, v.logit_opacity),
                          adam_arrays(g.sh, m.sh, v.sh)};
  const Observation observation{statistics ? pointer(statistics->sum) : nullptr, pointer(dL_dsplat.absolute_mean_px),
                                half_size_of(view.camera)};
  with_degree(g.sh_degree, [&](auto degree) {
    project_backward_optimize_kernel<degree()><<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
        pointers(g, {}), pinhole(view.camera), render_settings(view.options), pointer(projection.splat),
        pointer(dL_dsplat.splat), arrays, adam_settings(options, count), observation, status());
  });
  check(cudaGetLastError(), "start project_backward_optimize");
}

void CudaBackend::project_backward_optimize(DeviceGaussians& g, const View& view, const Projection& projection,
                                            const SplatGradient& dL_dsplat, AdamMoments& moments,
                                            const AdamOptions& options) {
  clear_status();
  optimize_into(g, view, projection, dL_dsplat, moments, options, nullptr);
}

}  // namespace stipple
