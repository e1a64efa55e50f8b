// SPDX-License-Identifier: Apache-2.0
// blend_backward: the picture's gradient to every splat's.
//
// Each chunk of a tile is walked front to back again, a block a chunk, a thread a pixel. With p = channels .
// dL_dchannels + dL_dalpha of a splat at a pixel, and S = what lies behind it dotted with the gradients (the
// picture's own dot product at first, minus p alpha T from then on), dL_dalpha = p T - S / (1 - alpha). Of q =
// alpha dL_dalpha only six moments are kept, sum q (1, dx, dy, dx^2, dx dy, dy^2): the conic is multiplied in once
// per Gaussian.
//
// A warp adds up its pixels, the block its warps, and the sums of a (splat, tile) pair go to the pair's own
// place, its emission; then every Gaussian adds up its own run of them. No two threads ever add into the same
// number, and the order of additions is fixed.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/pixel.cuh"
#include "stipple/backend/cuda/warp_sums.cuh"

namespace stipple {

namespace {

constexpr int kBatch = 32;  // splats between two meetings of the block

enum Field { kRed, kGreen, kBlue, kM0, kMx, kMy, kMxx, kMxy, kMyy, kPlainFields };

// Which gradients there are, and which are wanted.
template <bool kWithDepth, bool kWithAlpha, bool kWithAbsolute>
struct Kind {
  static constexpr bool kDepth = kWithDepth, kAlpha = kWithAlpha, kAbsolute = kWithAbsolute;
  static constexpr int kDepthField = kPlainFields;
  static constexpr int kAbsoluteField = kPlainFields + kDepth;  // and the next
  static constexpr int kFields = kPlainFields + kDepth + 2 * kAbsolute;
  static constexpr int kStamp = kFields;  // says that the sums before it are this pass's
  static constexpr int kStride = (kFields + 1 + 3) / 4 * 4;
};

// Stamps are the bits of NaNs that no arithmetic gives: no sum is taken for one.
constexpr std::uint32_t kFirstStamp = 0x7f800001, kLastStamp = 0x7fbfffff;

struct BackwardInput {
  const ProjectedSplat* splats;
  const std::uint32_t *gaussian_from_slot, *emission_from_slot, *slot_begin, *slot_end, *chunk_begin,
      *tile_from_chunk;
  const float *color, *transmittance, *depth, *checkpoint, *dL_dcolor, *dL_dalpha, *dL_ddepth;
  int columns, width, height;
  unsigned tile_count;
  int checkpoint_stride;
  float log2_alpha_max;
};

struct BackwardPixel {
  float transmittance;  // negative when finished
  float behind;         // S
  float dL_dchannel[4];
  float dL_dalpha;
};

// The pixel at the start of a chunk; `checkpoint` is null for the first.
template <class K>
__device__ BackwardPixel load_pixel(const BackwardInput& in, const PixelPlace& place, const float* checkpoint) {
  BackwardPixel p{-1, 0, {0, 0, 0, 0}, 0};
  if (!place.is_inside) return p;
  const std::size_t plane = static_cast<std::size_t>(in.width) * static_cast<unsigned>(in.height);
  const auto before = [&](int field) { return checkpoint ? checkpoint[field * kTilePixels + threadIdx.x] : 0.0f; };
  p.transmittance = checkpoint ? before(0) : 1.0f;
  for (int k = 0; k < 3; ++k) {
    p.dL_dchannel[k] = in.dL_dcolor[k * plane + place.at];
    p.behind += p.dL_dchannel[k] * (in.color[k * plane + place.at] - before(1 + k));
  }
  if (K::kDepth) {
    p.dL_dchannel[3] = in.dL_ddepth[place.at];
    p.behind += p.dL_dchannel[3] * (in.depth[place.at] - before(4));
  }
  if (K::kAlpha) {
    p.dL_dalpha = in.dL_dalpha[place.at];
    p.behind += p.dL_dalpha * (fabsf(p.transmittance) - in.transmittance[place.at]);
  }
  return p;
}

// One splat at one pixel: its share of every field. False when it is drawn in none of the warp's pixels.
template <class K>
__device__ bool backward_splat(const StagedSplat& s, float px, float py, float log2_alpha_max, BackwardPixel& pixel,
                               float (&field)[K::kFields]) {
  const float dx = px - s.shape.x, dy = py - s.shape.y;
  const float y = exponent(s, dx, dy);
  const bool is_drawn = y >= kMinExponent && pixel.transmittance > 0;
  if (!__any_sync(kAllLanes, is_drawn)) return false;
  const float front = pixel.transmittance;
  const float alpha = exp2_of(fminf(y, s.limits.z));
  float weight = is_drawn ? front * alpha : 0.0f;
  const float after = front - weight;
  const bool goes_on = after >= M::min_transmittance;
  pixel.transmittance = goes_on ? after : -fabsf(front);
  weight = goes_on ? weight : 0.0f;

  float p = K::kAlpha ? pixel.dL_dalpha : 0.0f;
  p = fmaf(s.color.x, pixel.dL_dchannel[0], p);
  p = fmaf(s.color.y, pixel.dL_dchannel[1], p);
  p = fmaf(s.color.z, pixel.dL_dchannel[2], p);
  if (K::kDepth) p = fmaf(s.color.w, pixel.dL_dchannel[3], p);
  pixel.behind = fmaf(-weight, p, pixel.behind);
  const float dL_dalpha = fmaf(front, p, -__fdividef(pixel.behind, 1 - alpha));
  // Where it is not drawn the weight is 0; a clamped alpha is a constant.
  const float q = weight > 0 && y < log2_alpha_max ? alpha * dL_dalpha : 0.0f;
  const float qx = q * dx, qy = q * dy;
  field[kRed] = weight * pixel.dL_dchannel[0];
  field[kGreen] = weight * pixel.dL_dchannel[1];
  field[kBlue] = weight * pixel.dL_dchannel[2];
  field[kM0] = q;
  field[kMx] = qx;
  field[kMy] = qy;
  field[kMxx] = qx * dx;
  field[kMxy] = qx * dy;
  field[kMyy] = qy * dy;
  if (K::kDepth) field[K::kDepthField] = weight * pixel.dL_dchannel[3];
  if (K::kAbsolute) {  // conic . (dx, dy) is how q enters dL_dmean_px; the conic is folded here
    constexpr float kUnfold = -0.693147181f;
    field[K::kAbsoluteField] = fabsf(kUnfold * (2 * s.shape.z * qx + s.shape.w * qy));
    field[K::kAbsoluteField + 1] = fabsf(kUnfold * (s.shape.w * qx + 2 * s.limits.x * qy));
  }
  return true;
}

template <class K>
__global__ void __launch_bounds__(kTilePixels)
    blend_backward_kernel(BackwardInput in, float* partial, std::uint32_t stamp) {
  __shared__ StagedSplat staged[kBatch];
  __shared__ std::uint32_t emission[kBatch];
  __shared__ float sums[kTileWarps][kBatch][K::kFields];
  __shared__ unsigned written[kTileWarps];  // a bit a splat: this warp has sums of it
  const bool is_first = blockIdx.x < in.tile_count;
  if (!is_first && blockIdx.x - in.tile_count >= in.chunk_begin[in.tile_count]) return;
  const unsigned tile = is_first ? blockIdx.x : in.tile_from_chunk[blockIdx.x - in.tile_count];
  const unsigned chunk = is_first ? 0 : blockIdx.x - in.tile_count - in.chunk_begin[tile] + 1;
  const unsigned begin = in.slot_begin[tile] + chunk * kChunk, end = min(begin + kChunk, in.slot_end[tile]);
  if (begin >= end) return;

  const PixelPlace place(tile, in.columns, in.width, in.height);
  const std::size_t checkpoint = is_first ? 0 : blockIdx.x - in.tile_count;
  BackwardPixel pixel =
      load_pixel<K>(in, place, is_first ? nullptr : in.checkpoint + checkpoint * in.checkpoint_stride);
  const float px = static_cast<float>(place.x) + 0.5f, py = static_cast<float>(place.y) + 0.5f;
  const Patch patch{__shfl_sync(kAllLanes, px, 0), __shfl_sync(kAllLanes, py, 0)};
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp;
  const int my_field = field_of_lane(lane, K::kFields);

  for (unsigned batch = begin; batch < end; batch += kBatch) {
    const unsigned count = min(end - batch, static_cast<unsigned>(kBatch));
    if (threadIdx.x < count) {
      staged[threadIdx.x] = stage(in.splats, in.gaussian_from_slot[batch + threadIdx.x], in.log2_alpha_max);
      emission[threadIdx.x] = in.emission_from_slot[batch + threadIdx.x];
    }
    __syncthreads();
    unsigned mine = 0;
    if (__any_sync(kAllLanes, pixel.transmittance > 0)) {
      const unsigned candidate = static_cast<unsigned>(lane);
      unsigned reaching = __ballot_sync(kAllLanes, candidate < count && patch.meets(staged[min(candidate, count - 1)]));
      for (; reaching; reaching &= reaching - 1) {
        const int k = __ffs(static_cast<int>(reaching)) - 1;
        float field[K::kFields];
        if (!backward_splat<K>(staged[k], px, py, in.log2_alpha_max, pixel, field)) continue;
        mine |= 1u << k;
        const float sum = sum_fields_over_warp(field);
        if (my_field >= 0) sums[warp][k][my_field] = sum;
      }
    }
    if (lane == 0) written[warp] = mine;
    const bool is_finished = __syncthreads_and(pixel.transmittance < 0);
    for (unsigned i = threadIdx.x; i < count * K::kFields; i += kTilePixels) {
      const unsigned k = i / K::kFields, field = i % K::kFields;
      float sum = 0;
      bool any = false;
#pragma unroll
      for (int w = 0; w < kTileWarps; ++w)
        if (written[w] >> k & 1) {
          sum += sums[w][k][field];
          any = true;
        }
      if (!any) continue;
      float* to = partial + static_cast<std::size_t>(emission[k]) * K::kStride;
      to[field] = sum;
      if (field == 0) to[K::kStamp] = __uint_as_float(stamp);
    }
    if (is_finished) break;
    __syncthreads();
  }
}

template <class K>
struct PartialSum {
  float field[K::kFields] = {};
};

// The sums of emissions begin, begin + step, ...
template <class K>
__device__ PartialSum<K> sum_partials(const float* partial, std::uint32_t stamp, unsigned begin, unsigned end,
                                      unsigned step) {
  PartialSum<K> sum;
  for (unsigned e = begin; e < end; e += step) {
    const auto* from = reinterpret_cast<const float4*>(partial + static_cast<std::size_t>(e) * K::kStride);
    float4 part[K::kStride / 4];
#pragma unroll
    for (int i = 0; i < K::kStride / 4; ++i) part[i] = from[i];
    const auto* value = reinterpret_cast<const float*>(part);
    if (__float_as_uint(value[K::kStamp]) != stamp) continue;
#pragma unroll
    for (int i = 0; i < K::kFields; ++i) sum.field[i] += value[i];
  }
  return sum;
}

// The conic multiplied in.
template <class K>
__device__ Splat splat_gradient(const ProjectedSplat& p, const PartialSum<K>& sum) {
  const Splat& s = p.splat;
  const float* f = sum.field;
  Splat g;
  // dx here is pixel - mean, the opposite of d in math/blending.glsl.
  g.mean_px = Vec2f(s.conic.x * f[kMx] + s.conic.y * f[kMy], s.conic.y * f[kMx] + s.conic.z * f[kMy]);
  g.conic = Vec3f(-0.5f * f[kMxx], -f[kMxy], -0.5f * f[kMyy]);
  g.opacity = f[kM0] / s.opacity;
  g.channels = Vec4f(f[kRed], f[kGreen], f[kBlue], K::kDepth ? f[K::kDepthField] : 0.0f);
  return g;
}

__device__ bool is_finite(const Splat& s) {
  const float* v = reinterpret_cast<const float*>(&s);
  float zero = 0;  // stays so unless one is infinite or not a number
  for (unsigned i = 0; i < sizeof(Splat) / sizeof(float); ++i) zero += v[i] * 0;
  return zero == 0;
}

constexpr int kSumThreads = 128;
constexpr unsigned kRunAlone = 16;  // emissions that a lane adds up by itself

// Every Gaussian's own run; long ones by the whole warp.
template <class K>
__global__ void __launch_bounds__(kSumThreads)
    sum_kernel(const ProjectedSplat* splats, const TileBins::Emissions* emissions, unsigned count, const float* partial,
               std::uint32_t stamp, Splat* dL_dsplat, Vec2f* absolute, StepStatus* status) {
  const unsigned i = blockIdx.x * kSumThreads + threadIdx.x;
  TileBins::Emissions run{0, 0};
  bool is_seen = false;
  if (i < count) {
    is_seen = splats[i].splat.opacity > 0;
    if (is_seen && !status->has_overflowed) run = emissions[i];
  }
  const bool is_long = run.end - run.begin > kRunAlone;
  PartialSum<K> sum;
  if (!is_long) sum = sum_partials<K>(partial, stamp, run.begin, run.end, 1);
  for (unsigned longs = __ballot_sync(kAllLanes, is_long); longs; longs &= longs - 1) {
    const int owner = __ffs(static_cast<int>(longs)) - 1;
    const unsigned begin = __shfl_sync(kAllLanes, run.begin, owner), end = __shfl_sync(kAllLanes, run.end, owner);
    const PartialSum<K> part = sum_partials<K>(partial, stamp, begin + lane_index(), end, kWarp);
    for (int f = 0; f < K::kFields; ++f) {
      const float total = sum_over_warp(part.field[f]);
      if (lane_index() == owner) sum.field[f] = total;
    }
  }
  if (i >= count) return;
  Splat g{{0, 0}, {0, 0, 0}, 0, {0, 0, 0, 0}};
  if (is_seen) g = splat_gradient(splats[i], sum);
  if (!is_finite(g)) status->is_bad = 1;
  dL_dsplat[i] = g;
  if constexpr (K::kAbsolute) absolute[i] = Vec2f(sum.field[K::kAbsoluteField], sum.field[K::kAbsoluteField + 1]);
}

constexpr int kBackgroundThreads = 1024;

// One block, since it is seldom wanted: sum over the pixels of dL_dcolor * transmittance.
__global__ void __launch_bounds__(kBackgroundThreads)
    background_kernel(const float* dL_dcolor, const float* transmittance, std::size_t plane, Vec3f* out) {
  __shared__ double warp_sum[kBackgroundThreads / kWarp];
  for (int k = 0; k < 3; ++k) {
    double sum = 0;
    for (std::size_t i = threadIdx.x; i < plane; i += kBackgroundThreads)
      sum += static_cast<double>(dL_dcolor[k * plane + i] * transmittance[i]);
    sum = sum_over_warp(sum);
    if (lane_index() == 0) warp_sum[threadIdx.x / kWarp] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
      double total = 0;
      for (double w : warp_sum) total += w;
      (*out)[k] = static_cast<float>(total);
    }
    __syncthreads();
  }
}

template <class F>
void with_kind(bool depth, bool alpha, bool absolute, F f) {
  const auto choose_absolute = [&](auto d, auto a) {
    if (absolute)
      f(Kind<d(), a(), true>());
    else
      f(Kind<d(), a(), false>());
  };
  const auto choose_alpha = [&](auto d) {
    if (alpha)
      choose_absolute(d, std::true_type());
    else
      choose_absolute(d, std::false_type());
  };
  if (depth)
    choose_alpha(std::true_type());
  else
    choose_alpha(std::false_type());
}

}  // namespace

void CudaBackend::blend_backward_into(const Projection& projection, const TileBins& bins, const View& view,
                                      const Frame& frame, const FrameGradient& dL_dframe, SplatGradient& out) {
  const std::size_t count = projection.splat.size(), slot_count = bins.gaussian_from_slot.size();
  const std::size_t tile_count = bins.slot_begin_from_tile.size() - 1;
  const bool with_depth = !dL_dframe.depth.empty();
  out.splat.resize(*this, count);
  out.absolute_mean_px.resize(*this, out.wants_absolute ? count : 0);
  if (count == 0) return;
  const BackwardInput in{pointer(projection.splat),
                         pointer(bins.gaussian_from_slot),
                         pointer(bins.emission_from_slot),
                         pointer(bins.slot_begin_from_tile),
                         pointer(frame.slot_end_from_tile),
                         pointer(bins.chunk_begin_from_tile),
                         pointer(bins.tile_from_chunk),
                         pointer(frame.color),
                         pointer(frame.transmittance),
                         pointer(frame.depth),
                         pointer(frame.checkpoint),
                         pointer(dL_dframe.color),
                         pointer(dL_dframe.alpha),
                         pointer(dL_dframe.depth),
                         bins.column_count,
                         frame.width_px,
                         frame.height_px,
                         static_cast<unsigned>(tile_count),
                         checkpoint_fields(!frame.depth.empty()) * kTilePixels,
                         std::log2(view.options.alpha_max)};
  with_kind(with_depth, !dL_dframe.alpha.empty(), out.wants_absolute, [&](auto kind) {
    using K = decltype(kind);
    // In fresh memory anything may look like this pass's stamp; in used memory, only those of other passes.
    if (partial_.size() < slot_count * K::kStride || partial_stamp_ == kLastStamp) {
      partial_.resize_zero(*this, slot_count * K::kStride);
      partial_stamp_ = kFirstStamp;
    }
    ++partial_stamp_;
    const auto blocks = static_cast<unsigned>(tile_count + max_chunk_count(slot_count));
    blend_backward_kernel<K><<<blocks, kTilePixels, 0, stream()>>>(in, pointer(partial_), partial_stamp_);
    sum_kernel<K><<<blocks_for(count, kSumThreads), kSumThreads, 0, stream()>>>(
        pointer(projection.splat), pointer(bins.emissions_from_gaussian), static_cast<unsigned>(count), pointer(partial_),
        partial_stamp_, pointer(out.splat), pointer(out.absolute_mean_px), status());
  });
  check(cudaGetLastError(), "start blend_backward");
}

void CudaBackend::blend_backward(const Projection& projection, const TileBins& bins, const View& view,
                                 const Frame& frame, const FrameGradient& dL_dframe, SplatGradient& out) {
  clear_status();
  blend_backward_into(projection, bins, view, frame, dL_dframe, out);
  out.background = Vec3f(0, 0, 0);
  if (!out.wants_background) return;
  DeviceArray<Vec3f> background;
  background.resize(*this, 1);
  background_kernel<<<1, kBackgroundThreads, 0, stream()>>>(pointer(dL_dframe.color), pointer(frame.transmittance),
                                                           frame.transmittance.size(), pointer(background));
  check(cudaGetLastError(), "start blend_backward");
  out.background = background.download(*this)[0];
}

}  // namespace stipple
