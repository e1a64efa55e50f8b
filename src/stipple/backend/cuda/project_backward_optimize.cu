// SPDX-License-Identifier: Apache-2.0
// project_backward and optimize in one kernel: the gradients of the parameters never leave the
// multiprocessor. Each warp has 32 Gaussians, and whole warps stream rows of coefficients, means and scales,
// so that every byte is moved once, in order.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/adam.cuh"
#include "stipple/backend/cuda/shared/gaussian_backward.cuh"
#include "stipple/backend/cuda/shared/splat_sums.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 128;

// Whether the rows that four floats from `at` on are in, of kRow floats each, are all active.
template <int kRow>
__device__ bool are_active(unsigned active, int at) {
  const unsigned rows = (2u << ((at + 3) / kRow - at / kRow)) - 1;
  return (active >> (at / kRow) & rows) == rows;
}

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

// Updates a warp's 32 rows of kRow floats of one parameter and its moments, four floats per lane. The
// constructor starts the loads, and the lane can do other work until finish(). The kernel is bound by memory
// latency, so as many loads as possible are in flight at once.
template <int kRow>
class RowStep {
 public:
  static constexpr int kVectors = kWarp * kRow / 4;

  __device__ RowStep(const AdamArrays& arrays, std::size_t first, unsigned active)
      : arrays_{arrays.value + first * kRow, arrays.moments + first * kRow,
                M::rounding_bits(arrays.key, static_cast<std::uint32_t>(first * kRow))},
        active_(active) {
    const int i = lane_index();
    is_whole_ = i < kVectors && are_active<kRow>(active, 4 * i);
    if (!is_whole_) return;
    value_ = reinterpret_cast<const float4*>(arrays_.value)[i];
    moments_ = reinterpret_cast<const uint4*>(arrays_.moments)[i];
  }

  // gradient(at, value) is a function; `at` counts the warp's floats.
  template <class Gradient>
  __device__ void finish(const M::AdamRule& rule, float rate, Gradient gradient) {
    const int i = lane_index();
    const auto step = [&](float& value, std::uint32_t& moments, int at) {
      adam_step(value, moments, gradient(at, value), rate, rule, M::rounding_bits(arrays_.key, at));
    };
    if (is_whole_) {
      step(value_.x, moments_.x, 4 * i);
      step(value_.y, moments_.y, 4 * i + 1);
      step(value_.z, moments_.z, 4 * i + 2);
      step(value_.w, moments_.w, 4 * i + 3);
      reinterpret_cast<float4*>(arrays_.value)[i] = value_;
      reinterpret_cast<uint4*>(arrays_.moments)[i] = moments_;
    } else if (i < kVectors) {
      for (int at = 4 * i; at < 4 * i + 4; ++at)
        if (active_ >> (at / kRow) & 1) step(arrays_.value[at], arrays_.moments[at], at);
    }
  }

 private:
  AdamArrays arrays_;
  unsigned active_;
  float4 value_;
  uint4 moments_;
  bool is_whole_;
};

// Updates a warp's 32 rows of SH coefficients. The 16-bit moments of a row do not begin where a vector does:
// the warp moves those of all its rows through shared memory.
template <int kDegree>
class HarmonicStep {
 public:
  static constexpr int kRow = CoefficientRows<kDegree>::kFloats, kRest = kRow - 3;

  // Starts to load the 16-bit moments. `rows` is the number of Gaussians from `first` to the end.
  __device__ HarmonicStep(const HarmonicArrays& arrays, std::size_t first, unsigned rows, unsigned active,
                          LaneRow shown)
      : arrays_{arrays.value + first * kRow,
                arrays.base + first * 3,
                arrays.rest + first * kRest,
                M::rounding_bits(arrays.base_key, static_cast<std::uint32_t>(first * 3)),
                M::rounding_bits(arrays.rest_key, static_cast<std::uint32_t>(first * kRest)),
                arrays.shown},
        words_(static_cast<int>(min(rows, unsigned{kWarp})) * kRest),
        active_(active) {
    if (arrays.shown.row) {
      arrays_.shown.row += first_row_of_warp(shown) * kRow;
      copied_ = __ballot_sync(kAllLanes, shown.is_shown && shown.row < arrays.shown.count);
    }
#pragma unroll
    for (int k = 0; k < kRounds; ++k)
      if (is_moved(k)) moving_[k] = reinterpret_cast<const uint4*>(arrays_.rest)[vector(k)];
  }

  // `space` is shared memory of the warp for kSpace floats, and gradient(row, place) a function.
  static constexpr int kSpace = kWarp * kRest / 2 + 3 * kWarp;
  template <class Gradient>
  __device__ void finish(const M::AdamRule& rule, const ParameterRule& rates, float* space,
                         Gradient gradient) {
    auto* rest = reinterpret_cast<std::uint16_t*>(space);
    float* base = space + kWarp * kRest / 2;
#pragma unroll
    for (int k = 0; k < kRounds; ++k)
      if (is_moved(k)) reinterpret_cast<uint4*>(rest)[vector(k)] = moving_[k];
    const int last = words_ - words_ % 8 + lane_index();
    if (last < words_) rest[last] = arrays_.rest[last];
    step_base(rule, rates.rate, base, gradient);
    __syncwarp();
    step_rows(rule, rates.rest_rate, base, rest, gradient);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < kRounds; ++k)
      if (is_moved(k))
        reinterpret_cast<uint4*>(arrays_.rest)[vector(k)] = reinterpret_cast<uint4*>(rest)[vector(k)];
    if (last < words_) arrays_.rest[last] = rest[last];
  }

 private:
  static constexpr int kVectors = kWarp * kRest / 8, kRounds = (kVectors + kWarp - 1) / kWarp;

  __device__ static int vector(int k) { return k * kWarp + lane_index(); }
  // Whether the lane's vector of eight moments is moved in this round: one of its rows is active, and it does
  // not reach beyond the end of the array.
  __device__ bool is_moved(int k) const {
    const int word = 8 * vector(k), row = word / kRest, next = (word + 7) / kRest;
    return word + 8 <= words_ && (active_ >> row & 1 || active_ >> next & 1);
  }

  // Coefficients of rows that are active, from the copies, if there are any.
  __device__ float value_at(int row, int place) const {
    return copied_ >> row & 1 ? arrays_.shown.row[dense_row(copied_, row) * kRow + place]
                              : arrays_.value[row * kRow + place];
  }
  __device__ float4 values_at(int i) const {
    constexpr int kEach = kRow / 4;
    const auto in = [](const float* rows, int vector) {
      return reinterpret_cast<const float4*>(rows)[vector];
    };
    if (copied_ == 0) return in(arrays_.value, i);
    if constexpr (kRow % 4 == 0)
      return copied_ >> (i / kEach) & 1
                 ? in(arrays_.shown.row, dense_row(copied_, i / kEach) * kEach + i % kEach)
                 : in(arrays_.value, i);
    // A vector of these does not begin where one of the copies does.
    const auto at = [&](int k) { return value_at((4 * i + k) / kRow, (4 * i + k) % kRow); };
    return make_float4(at(0), at(1), at(2), at(3));
  }

  // The base colours, one float per lane. They are left in `base`.
  template <class Gradient>
  __device__ void step_base(const M::AdamRule& rule, float rate, float* base, Gradient gradient) {
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      const int at = vector(k), row = at / 3, place = at % 3;
      if (!(active_ >> row & 1)) continue;
      float value = value_at(row, place);
      adam_step(value, arrays_.base[at], gradient(row, place), rate, rule,
                M::rounding_bits(arrays_.base_key, at));
      base[at] = value;
    }
  }

  template <class Gradient>
  __device__ void step_rows(const M::AdamRule& rule, float rate, const float* base, std::uint16_t* rest,
                            Gradient gradient) {
    constexpr int kValueVectors = kWarp * kRow / 4, kAll = (kValueVectors + kWarp - 1) / kWarp;
    constexpr int kAtOnce = kAll < 6 ? kAll : 6;
    const auto step = [&](float& value, int at) {
      const int row = at / kRow, place = at % kRow, word = row * kRest + place - 3;
      if (place < 3)
        value = base[3 * row + place];
      else
        adam_step(value, rest[word], gradient(row, place), rate, rule,
                  M::rounding_bits(arrays_.rest_key, word));
    };
#pragma unroll 1
    for (int first_round = 0; first_round < kAll; first_round += kAtOnce) {
      float4 value[kAtOnce];
      bool is_whole[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int i = vector(first_round + k);
        is_whole[k] = i < kValueVectors && are_active<kRow>(active_, 4 * i);
        if (is_whole[k]) value[k] = values_at(i);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const int i = vector(first_round + k);
        if (is_whole[k]) {
          step(value[k].x, 4 * i);
          step(value[k].y, 4 * i + 1);
          step(value[k].z, 4 * i + 2);
          step(value[k].w, 4 * i + 3);
          reinterpret_cast<float4*>(arrays_.value)[i] = value[k];
        } else if (i < kValueVectors) {
          for (int at = 4 * i; at < 4 * i + 4; ++at)
            if (active_ >> (at / kRow) & 1) step(arrays_.value[at], at);
        }
      }
    }
  }

  HarmonicArrays arrays_;
  int words_;  // 16-bit moments of the rows that there are
  unsigned active_, copied_ = 0;
  uint4 moving_[kRounds];
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
                                     const VisibleBlock* visible, const ProjectedSplat* splats,
                                     Gradients gradients, StepArrays arrays, AdamSettings adam,
                                     DensityStatistics density, bool lifts_clamped,
                                     const ViewStatus* status) {
  __shared__ WarpScratch<kDegree> all_scratch[kThreads / kWarp];
  WarpScratch<kDegree>& scratch = all_scratch[threadIdx.x / kWarp];
  if (status->has_overflowed) return;  // there are no splats, or no sums
  const bool may_change = may_update(status, 1);
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const std::size_t first = i - lane_index();
  const LaneRow from = row_of_lane(visible, i, g.count);
  const SeenSplat seen = from.is_shown ? load_seen(splats, from.row) : SeenSplat();
  const bool is_drawn = seen.opacity > 0;
  const unsigned drawn = __ballot_sync(kAllLanes, is_drawn);
  const unsigned active = adam.visible_only ? drawn : __ballot_sync(kAllLanes, i < g.count);
  if (active == 0) return;
  const unsigned of_harmonics = adam.harmonics_of_visible_only ? drawn : active;
  GaussianGradient d;
  M::HarmonicBasis basis;
  if (drawn) {
    // All loads are issued before the first value is used.
    TakenGradient taken;
    M::ActiveGaussian gaussian;
    if (is_drawn) {
      taken = gradients.load(from.row);
      gaussian = load_gaussian<kAltered>(g, i, settings.scale_modifier);
    }
    load_shown(g, first, drawn, from, arrays.sh.shown, scratch.rows);
    if (is_drawn) {
      d = gaussian_backward<kAltered>(g, gaussian, camera, settings, seen, taken.splat, lifts_clamped,
                                      scratch.rows, basis, nullptr);
      gradients.clear(from.row);
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
  const auto gradient = [&](int row, int place) { return scratch.coefficients(row, place); };
  const auto step_shape = [&] {
    RowStep<3> mean(arrays.mean, first, active), log_scale(arrays.log_scale, first, active);
    RowStep<4> rotation(arrays.rotation, first, active);
    RowStep<1> logit_opacity(arrays.logit_opacity, first, active);
    mean.finish(adam.rule, adam.of.mean.rate, stored(scratch.mean));
    log_scale.finish(adam.rule, adam.of.log_scale.rate,
                     penalised(scratch.log_scale, adam.of.log_scale.penalty_weight,
                               [](float value, float w) { return M::scale_penalty_vjp(value, w); }));
    rotation.finish(adam.rule, adam.of.rotation.rate, stored(scratch.rotation));
    logit_opacity.finish(adam.rule, adam.of.logit_opacity.rate,
                         penalised(scratch.logit_opacity, adam.of.logit_opacity.penalty_weight,
                                   [](float value, float w) { return M::opacity_penalty_vjp(value, w); }));
  };
  if constexpr (kDegree == 0) {
    RowStep<3> base({arrays.sh.value, arrays.sh.base, arrays.sh.base_key}, first, of_harmonics);
    step_shape();
    base.finish(adam.rule, adam.of.sh.rate, [&](int at, float) { return gradient(at / 3, at % 3); });
  } else if (of_harmonics == 0) {
    step_shape();
  } else {
    HarmonicStep<kDegree> sh(arrays.sh, first, g.count - static_cast<unsigned>(first), of_harmonics, from);
    step_shape();
    // The rows of coefficients are no longer needed.
    static_assert(sizeof(scratch.rows) >= HarmonicStep<kDegree>::kSpace * sizeof(float));
    sh.finish(adam.rule, adam.of.sh, scratch.rows.value, gradient);
  }
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
  StepArrays arrays = step_arrays(state, options);
  if (options.harmonics_of_visible_only()) arrays.sh.shown = shown_copies(mine, g.sh_degree);
  const auto run = [&](auto degree, auto is_altered, auto gradients) {
    project_backward_optimize_kernel<degree(), is_altered()>
        <<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
            from, pinhole(view.camera), render_settings(view.options), pointer(pass.projection.visible),
            splats, gradients, arrays, adam_settings(options, loss, state.size_of_model(), 1), density,
            wanted.lifts_clamped_colors, mine.view_status());
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
  if (is_on_host(arrays.sh.value)) {
    // What this view shows has not been fetched: if nothing else is changed, the copies stay right.
    const bool stay_right =
        mine.fetched.host_state == context_->host_state() && options.harmonics_of_visible_only();
    context_->host_has_changed();
    mine.fetched.host_state = stay_right ? context_->host_state() : 0;
  }
  check(cudaGetLastError(), "launch project_backward_optimize");
  mine.events.record(Stage::kOptimize, stream());
}

}  // namespace stipple::cuda
