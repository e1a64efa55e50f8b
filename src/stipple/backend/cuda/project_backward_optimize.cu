// SPDX-License-Identifier: Apache-2.0
// project_backward and optimize in one kernel: the gradients of the parameters never leave the
// multiprocessor. Each warp has 32 Gaussians, and whole warps stream rows of coefficients, means and scales,
// so that every byte is moved once, in order.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/adam.cuh"
#include "stipple/backend/cuda/shared/gaussian_backward.cuh"
#include "stipple/backend/cuda/shared/splat_sums.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 128;

struct TakenGradient {
  Splat splat;
  Vec2f view_statistics;  // the mean's gradient, for the density statistics
};

// Where the density statistics are accumulated; `sum` is null if they are not wanted.
struct DensityStatistics {
  Vec2f* sum;
  Vec2f half_size;
};

// The splats' gradients as blend_backward wrote them.
struct StoredGradients {
  const Splat* splat;
  const Vec2f* absolute;  // null to use the plain gradient for the density statistics

  __device__ TakenGradient load(unsigned i) const {
    const Splat dL = load_splat_gradient(splat, i);
    return {dL, absolute ? absolute[i] : dL.mean_px};
  }
  __device__ void clear(unsigned) const {}
};

// The splats' gradients computed from their sums, which are then cleared.
template <class K>
struct SummedGradients {
  const ProjectedSplat* splats;
  float* sums;

  __device__ TakenGradient load(unsigned i) const {
    const SplatSums<K> sum = load_sums<K>(sums, i);
    const Splat dL = splat_gradient(splats, i, sum);
    if constexpr (K::kAbsolute) return {dL, Vec2f(sum.field[kAbsoluteX], sum.field[kAbsoluteY])};
    return {dL, dL.mean_px};
  }
  __device__ void clear(unsigned i) const { clear_sums<K>(sums, i); }
};

// Updates a warp's 32 rows of kRow floats of one parameter and its moments, four floats per lane and round.
// The constructor starts the loads, and the lane can do other work until finish(). The kernel is bound by
// memory latency, so as many loads as possible are in flight at once.
template <int kRow, int kRounds>
class RowStep {
 public:
  static constexpr int kVectors = kWarp * kRow / 4;

  __device__ RowStep(const AdamArrays& arrays, std::size_t first, unsigned active, int first_round = 0)
      : arrays_{arrays.value + first * kRow, arrays.first_moment + first * kRow,
                arrays.second_moment + first * kRow},
        active_(active),
        first_round_(first_round) {
#pragma unroll
    for (int k = 0; k < kRounds; ++k) {
      const int i = vector(k);
      // One bit for each row that these four floats are in.
      const unsigned rows = (2u << ((4 * i + 3) / kRow - 4 * i / kRow)) - 1;
      is_whole_[k] = i < kVectors && (active >> (4 * i / kRow) & rows) == rows;
      if (!is_whole_[k]) continue;
      value_[k] = reinterpret_cast<const float4*>(arrays_.value)[i];
      first_[k] = reinterpret_cast<const float4*>(arrays_.first_moment)[i];
      second_[k] = reinterpret_cast<const float4*>(arrays_.second_moment)[i];
    }
  }

  // gradient(at, value) and rate(place) are functions; `at` counts the warp's floats, `place` those of a row.
  template <class Gradient, class Rate>
  __device__ void finish(const M::AdamRule& rule, Gradient gradient, Rate rate) {
#pragma unroll
    for (int k = 0; k < kRounds; ++k) {
      const int i = vector(k);
      if (is_whole_[k]) {
        step(value_[k].x, first_[k].x, second_[k].x, 4 * i, rule, gradient, rate);
        step(value_[k].y, first_[k].y, second_[k].y, 4 * i + 1, rule, gradient, rate);
        step(value_[k].z, first_[k].z, second_[k].z, 4 * i + 2, rule, gradient, rate);
        step(value_[k].w, first_[k].w, second_[k].w, 4 * i + 3, rule, gradient, rate);
        reinterpret_cast<float4*>(arrays_.value)[i] = value_[k];
        reinterpret_cast<float4*>(arrays_.first_moment)[i] = first_[k];
        reinterpret_cast<float4*>(arrays_.second_moment)[i] = second_[k];
      } else if (i < kVectors) {
        for (int at = 4 * i; at < 4 * i + 4; ++at)
          if (active_ >> (at / kRow) & 1)
            adam_in_place(arrays_, at, gradient(at, arrays_.value[at]), rate(at % kRow), rule);
      }
    }
  }

 private:
  __device__ int vector(int k) const { return (first_round_ + k) * kWarp + lane_index(); }

  template <class Gradient, class Rate>
  __device__ static void step(float& value, float& first, float& second, int at, const M::AdamRule& rule,
                              Gradient gradient, Rate rate) {
    const M::AdamParameter p = adam_step(value, first, second, gradient(at, value), rate(at % kRow), rule);
    value = p.value;
    first = p.first_moment;
    second = p.second_moment;
  }

  AdamArrays arrays_;
  unsigned active_;
  int first_round_;
  float4 value_[kRounds], first_[kRounds], second_[kRounds];
  bool is_whole_[kRounds];
};

template <int kDegree>
struct WarpScratch {
  CoefficientRows<kDegree> rows;
  CoefficientGradients<kDegree> coefficients;
  float mean[3 * kWarp], log_scale[3 * kWarp], rotation[4 * kWarp], logit_opacity[kWarp];

  __device__ void store(const GaussianGradient& d, const M::HarmonicBasis& basis, bool is_drawn) {
    const int lane = lane_index();
    for (int c = 0; c < 3; ++c) {
      mean[3 * lane + c] = d.stored.mean[c];
      log_scale[3 * lane + c] = d.stored.log_scale[c];
    }
    rotation[4 * lane] = d.stored.rotation.x;
    rotation[4 * lane + 1] = d.stored.rotation.y;
    rotation[4 * lane + 2] = d.stored.rotation.z;
    rotation[4 * lane + 3] = d.stored.rotation.w;
    logit_opacity[lane] = d.stored.logit_opacity;
    coefficients.store(basis, d.sh_sum, is_drawn);  // also synchronises the warp
  }
};

template <int kDegree, bool kAltered, class Gradients>
__global__ void __launch_bounds__(kThreads, 4)
    project_backward_optimize_kernel(GaussianPointers g, M::Pinhole camera, M::RenderSettings settings,
                                     const ProjectedSplat* splats, Gradients gradients, StepArrays arrays,
                                     AdamSettings adam, DensityStatistics density, bool lifts_clamped,
                                     const ViewStatus* status) {
  __shared__ WarpScratch<kDegree> all_scratch[kThreads / kWarp];
  WarpScratch<kDegree>& scratch = all_scratch[threadIdx.x / kWarp];
  const bool may_change = may_update(status, 1);
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const std::size_t first = i - lane_index();
  const SeenSplat seen = i < g.count ? load_seen(splats, i) : SeenSplat();
  const bool is_drawn = seen.opacity > 0;
  const unsigned drawn = __ballot_sync(kAllLanes, is_drawn);
  const unsigned active = adam.visible_only ? drawn : __ballot_sync(kAllLanes, i < g.count);
  if (active == 0) return;
  GaussianGradient d;
  M::HarmonicBasis basis;
  if (drawn) {
    // All loads are issued before the first value is used.
    TakenGradient taken;
    M::ActiveGaussian gaussian;
    if (is_drawn) {
      taken = gradients.load(i);
      gaussian = load_gaussian<kAltered>(g, i, settings.scale_modifier);
    }
    scratch.rows.load(g.coefficients() + first * scratch.rows.kFloats, drawn);
    if (is_drawn) {
      d = gaussian_backward<kAltered>(g, gaussian, camera, settings, seen, taken.splat, lifts_clamped,
                                      scratch.rows, basis, nullptr);
      gradients.clear(i);
      if (density.sum && may_change)
        density.sum[i] = density.sum[i] + M::density_statistic(taken.view_statistics, density.half_size);
    }
  }
  if (!may_change) return;
  scratch.store(d, basis, is_drawn);
  const auto stored = [](const float* values) { return [values](int at, float) { return values[at]; }; };
  const auto penalised = [](const float* values, float weight, auto vjp) {
    return [=](int at, float value) { return values[at] + (weight != 0 ? vjp(value, weight) : 0.0f); };
  };
  const auto constant = [](float rate) { return [rate](int) { return rate; }; };
  {
    RowStep<3, 1> mean(arrays.mean, first, active), log_scale(arrays.log_scale, first, active);
    RowStep<4, 1> rotation(arrays.rotation, first, active);
    RowStep<1, 1> logit_opacity(arrays.logit_opacity, first, active);
    mean.finish(adam.rule, stored(scratch.mean), constant(adam.of.mean.rate));
    log_scale.finish(adam.rule,
                     penalised(scratch.log_scale, adam.of.log_scale.penalty_weight,
                               [](float value, float w) { return M::scale_penalty_vjp(value, w); }),
                     constant(adam.of.log_scale.rate));
    rotation.finish(adam.rule, stored(scratch.rotation), constant(adam.of.rotation.rate));
    logit_opacity.finish(adam.rule,
                         penalised(scratch.logit_opacity, adam.of.logit_opacity.penalty_weight,
                                   [](float value, float w) { return M::opacity_penalty_vjp(value, w); }),
                         constant(adam.of.logit_opacity.rate));
  }
  constexpr int kRow = CoefficientRows<kDegree>::kFloats, kAll = (kWarp * kRow / 4 + kWarp - 1) / kWarp;
  constexpr int kAtOnce = kAll < 6 ? kAll : 6;
#pragma unroll 1
  for (int round = 0; round < kAll; round += kAtOnce)
    RowStep<kRow, kAtOnce>(arrays.sh, first, active, round)
        .finish(
            adam.rule, [&](int at, float) { return scratch.coefficients(at / kRow, at % kRow); },
            [&](int place) { return place < 3 ? adam.of.sh.rate : adam.of.sh.rest_rate; });
}

}  // namespace

void CudaBackend::project_backward_optimize(TrainState& state, const View& view,
                                            const WantedGradients& wanted, const AdamOptions& options,
                                            const LossOptions& loss, Pass& pass) {
  // The camera's gradient is rarely wanted: it is left to the separate stages.
  if (wanted.camera) return Backend::project_backward_optimize(state, view, wanted, options, loss, pass);
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  if (mine.sums_are_pending && mine.sums_have_fourth)
    write_pending_gradients(pass);  // saves compiling a kernel for this rare case
  DeviceGaussians& g = state.gaussians;
  const std::size_t count = g.size();
  if (count == 0) return;
  const DensityStatistics density{wanted.view_statistics ? pointer(state.statistics) : nullptr,
                                  half_size_of(view.camera)};
  const ProjectedSplat* splats = pointer(pass.projection.splat);
  const GaussianPointers from = pointers(g, state.precomputed, view);
  const auto run = [&](auto degree, auto is_altered, auto gradients) {
    project_backward_optimize_kernel<degree(), is_altered()>
        <<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
            from, pinhole(view.camera), render_settings(view.options), splats, gradients, step_arrays(state),
            adam_settings(options, loss, count, 1), density, wanted.lifts_clamped_colors, mine.view_status());
  };
  with_form(from, [&](auto degree, auto is_altered) {
    if (!mine.sums_are_pending)
      run(degree, is_altered,
          StoredGradients{pointer(pass.dL_dsplat.splat), pointer(pass.dL_dsplat.absolute_mean_px)});
    else if (mine.sums_have_absolute)
      run(degree, is_altered, SummedGradients<GradientKind<false, true, false>>{splats, pointer(mine.sums)});
    else
      run(degree, is_altered, SummedGradients<GradientKind<false, false, false>>{splats, pointer(mine.sums)});
  });
  mine.sums_are_pending = false;
  check(cudaGetLastError(), "launch project_backward_optimize");
  mine.events.record(Stage::kOptimize, stream());
}

}  // namespace stipple::cuda
