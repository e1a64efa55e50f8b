// SPDX-License-Identifier: Apache-2.0
// project_backward and optimize in one: the gradients of the parameters never leave the multiprocessor. A warp has
// 32 Gaussians; rows of coefficients, means and scales are streamed by whole warps, so that every byte is moved
// once, in order.
#include "stipple/backend/cuda/adam.cuh"
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/gaussian_backward.cuh"
#include "stipple/backend/cuda/observe.cuh"
#include "stipple/backend/cuda/splat_sums.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple {

namespace {

constexpr int kThreads = 128;

struct StepArrays {
  AdamArrays mean, log_scale, rotation, logit_opacity, sh;
};

struct TakenGradient {
  Splat splat;
  Vec2f observed;  // of the mean, as density control wants it
};

// What density control is told, or nothing.
struct Observation {
  Vec2f* sum;
  Vec2f half_size;
};

// Where a splat's gradient comes from: as blend_backward leaves it ...
struct StoredGradients {
  const Splat* splat;
  const Vec2f* absolute;  // or null: the plain gradient is observed

  __device__ TakenGradient take(unsigned i) const {
    const Splat dL = load_splat_gradient(splat, i);
    return {dL, absolute ? absolute[i] : dL.mean_px};
  }
};

// ... or straight from its sums, which are zero again afterwards.
template <class K>
struct SummedGradients {
  const ProjectedSplat* splats;
  float* sums;

  __device__ TakenGradient take(unsigned i) const {
    const SplatSums<K> sum = take_sums<K>(sums, i);
    const Splat dL = splat_gradient(splats, i, sum);
    if constexpr (K::kAbsolute) return {dL, Vec2f(sum.field[kAbsoluteX], sum.field[kAbsoluteY])};
    return {dL, dL.mean_px};
  }
};

__device__ inline float4 load4(const float* from, std::size_t i) { return reinterpret_cast<const float4*>(from)[i]; }

// Asks for a warp's 32 rows of kRow floats, a line of memory for each float of a row: they are needed much later, and
// waiting for one array after the other is most of what there is to do here.
template <int kRow>
__device__ void prefetch_rows(const AdamArrays& arrays, std::size_t first) {
  const std::size_t floats = first * kRow;
  for (int line = lane_index(); line < kRow; line += kWarp)
    for (const float* array : {arrays.value, arrays.first_moment, arrays.second_moment})
      asm volatile("prefetch.global.L2 [%0];" ::"l"(array + floats + kWarp * line));
}

// Adam over a warp's 32 rows of kRow floats, four floats a lane. gradient(at, value) and rate(place in the row) are
// functions, at counting the warp's floats. Several vectors are on their way at once: it is all waiting for memory.
template <int kRow, class Gradient, class Rate>
__device__ void step_rows(const AdamArrays& arrays, std::size_t first, unsigned active, const M::AdamRule& rule,
                          Gradient gradient, Rate rate) {
  constexpr int kVectors = kWarp * kRow / 4, kRounds = (kVectors + kWarp - 1) / kWarp;
  constexpr int kAtOnce = kRounds < 4 ? kRounds : 4;
  const std::size_t first_float = first * kRow;
  const AdamArrays mine{arrays.value + first_float, arrays.first_moment + first_float,
                        arrays.second_moment + first_float};
#pragma unroll 1
  for (int begin = 0; begin < kRounds; begin += kAtOnce) {
    float4 value[kAtOnce], m[kAtOnce], v[kAtOnce];
    bool is_whole[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = (begin + k) * kWarp + lane_index();
      const unsigned rows = (2u << ((4 * i + 3) / kRow - 4 * i / kRow)) - 1;  // that these four floats are in
      is_whole[k] = i < kVectors && (active >> (4 * i / kRow) & rows) == rows;
      if (!is_whole[k]) continue;
      value[k] = load4(mine.value, i);
      m[k] = load4(mine.first_moment, i);
      v[k] = load4(mine.second_moment, i);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int i = (begin + k) * kWarp + lane_index();
      if (is_whole[k]) {
        float* x[3] = {&value[k].x, &m[k].x, &v[k].x};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const M::AdamParameter p = adam_step(x[0][j], x[1][j], x[2][j], gradient(4 * i + j, x[0][j]),
                                               rate((4 * i + j) % kRow), rule);
          x[0][j] = p.value;
          x[1][j] = p.first_moment;
          x[2][j] = p.second_moment;
        }
        reinterpret_cast<float4*>(mine.value)[i] = value[k];
        reinterpret_cast<float4*>(mine.first_moment)[i] = m[k];
        reinterpret_cast<float4*>(mine.second_moment)[i] = v[k];
      } else if (i < kVectors) {
        for (int at = 4 * i; at < 4 * i + 4; ++at)
          if (active >> (at / kRow) & 1)
            adam_in_place(mine, at, gradient(at, mine.value[at]), rate(at % kRow), rule);
      }
    }
  }
}

template <int kDegree>
struct WarpScratch {
  CoefficientRows<kDegree> rows;
  CoefficientGradients<kDegree> coefficients;
  float mean[3 * kWarp], log_scale[3 * kWarp], rotation[4 * kWarp], logit_opacity[kWarp];

  __device__ void store(const GaussianGradient& d, const M::HarmonicBasis& basis, bool is_drawn) {
    const int lane = lane_index();
    for (int c = 0; c < 3; ++c) {
      mean[3 * lane + c] = d.mean[c];
      log_scale[3 * lane + c] = d.log_scale[c];
    }
    rotation[4 * lane] = d.rotation.x;
    rotation[4 * lane + 1] = d.rotation.y;
    rotation[4 * lane + 2] = d.rotation.z;
    rotation[4 * lane + 3] = d.rotation.w;
    logit_opacity[lane] = d.logit_opacity;
    coefficients.store(basis, d.sh_sum, is_drawn);  // and waits for the warp
  }
};

template <int kDegree, class Gradients>
__global__ void __launch_bounds__(kThreads, 4)
    project_backward_optimize_kernel(GaussianPointers g, M::Pinhole camera, M::RenderSettings settings,
                                     const ProjectedSplat* splats, Gradients gradients, StepArrays arrays,
                                     AdamSettings adam, Observation observation, const StepStatus* status) {
  __shared__ WarpScratch<kDegree> all_scratch[kThreads / kWarp];
  if (status->is_bad || status->has_overflowed) return;  // nothing may change
  WarpScratch<kDegree>& scratch = all_scratch[threadIdx.x / kWarp];
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const std::size_t first = i - lane_index();
  const SeenSplat seen = i < g.count ? load_seen(splats, i) : SeenSplat();
  const bool is_drawn = seen.opacity > 0;
  const unsigned drawn = __ballot_sync(kAllLanes, is_drawn);
  const unsigned active = adam.visible_only ? drawn : __ballot_sync(kAllLanes, i < g.count);
  if (active == 0) return;
  if (active == kAllLanes) {
    prefetch_rows<4>(arrays.rotation, first);
    prefetch_rows<3>(arrays.mean, first);
    prefetch_rows<3>(arrays.log_scale, first);
    prefetch_rows<1>(arrays.logit_opacity, first);
    prefetch_rows<CoefficientRows<kDegree>::kFloats>(arrays.sh, first);
  }
  GaussianGradient d;
  M::HarmonicBasis basis;
  if (drawn) scratch.rows.load(g.sh + first * scratch.rows.kFloats, drawn);
  if (is_drawn) {
    const auto [dL, observed] = gradients.take(i);
    if (observation.sum) add_observation(observed, observation.half_size, observation.sum[i]);
    d = gaussian_backward<kDegree>(g, i, camera, settings, seen, dL, scratch.rows, basis, nullptr, nullptr);
  }
  scratch.store(d, basis, is_drawn);
  const auto stored = [](const float* gradients) { return [gradients](int at, float) { return gradients[at]; }; };
  const auto constant = [](float rate) { return [rate](int) { return rate; }; };
  step_rows<3>(arrays.mean, first, active, adam.rule, stored(scratch.mean), constant(adam.mean));
  step_rows<3>(
      arrays.log_scale, first, active, adam.rule,
      [&](int at, float value) {
        const float g = scratch.log_scale[at];
        return adam.scale_penalty != 0 ? g + M::scale_penalty_vjp(value, adam.scale_penalty) : g;
      },
      constant(adam.log_scale));
  step_rows<4>(arrays.rotation, first, active, adam.rule, stored(scratch.rotation), constant(adam.rotation));
  step_rows<1>(
      arrays.logit_opacity, first, active, adam.rule,
      [&](int at, float value) {
        const float g = scratch.logit_opacity[at];
        return adam.opacity_penalty != 0 ? g + M::opacity_penalty_vjp(value, adam.opacity_penalty) : g;
      },
      constant(adam.logit_opacity));
  constexpr int kRow = CoefficientRows<kDegree>::kFloats;
  step_rows<kRow>(
      arrays.sh, first, active, adam.rule,
      [&](int at, float) { return scratch.coefficients(at / kRow, at % kRow); },
      [&](int place) { return place < 3 ? adam.sh_base : adam.sh_rest; });
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
  const Observation observation{statistics ? pointer(statistics->sum) : nullptr, half_size_of(view.camera)};
  const auto run = [&](auto degree, auto gradients) {
    project_backward_optimize_kernel<degree()><<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
        pointers(g, {}), pinhole(view.camera), render_settings(view.options), pointer(projection.splat), gradients,
        arrays, adam_settings(options, count), observation, status());
  };
  with_degree(g.sh_degree, [&](auto degree) {
    if (!sums_are_pending_)
      run(degree, StoredGradients{pointer(dL_dsplat.splat), pointer(dL_dsplat.absolute_mean_px)});
    else if (dL_dsplat.wants_absolute)
      run(degree, SummedGradients<GradientKind<false, false, true, false>>{pointer(projection.splat), pointer(sums_)});
    else
      run(degree, SummedGradients<GradientKind<false, false, false, false>>{pointer(projection.splat), pointer(sums_)});
  });
  sums_are_pending_ = false;
  check(cudaGetLastError(), "start project_backward_optimize");
}

void CudaBackend::project_backward_optimize(DeviceGaussians& g, const View& view, const Projection& projection,
                                            const SplatGradient& dL_dsplat, AdamMoments& moments,
                                            const AdamOptions& options) {
  clear_status();
  optimize_into(g, view, projection, dL_dsplat, moments, options, nullptr);
}

}  // namespace stipple
