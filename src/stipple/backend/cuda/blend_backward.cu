// SPDX-License-Identifier: Apache-2.0
// blend_backward: the picture's gradient to every splat's.
//
// Each chunk of a tile is walked front to back again, a block a chunk, a thread a pixel. With p = channels .
// dL_dchannels + dL_dalpha of a splat at a pixel, and S = what lies behind it dotted with the gradients (the
// picture's own dot product at first, minus p alpha T from then on), dL_dalpha = p T - S / (1 - alpha). Of q =
// alpha dL_dalpha only six moments are kept, sum q (1, dx, dy, dx^2, dx dy, dy^2): the conic is multiplied in once
// per Gaussian.
//
// A warp works on groups of the splats that reach its pixels, in two phases. First a lane is a pixel: front to back,
// the splats' weights and q are written to shared memory, a table of splats by pixels. Then two lanes are a splat, and
// add up its row of the table: sums within a lane, where sums over lanes would cost more than all the rest.
//
// Those sums are added to the Gaussian's in memory, in the order in which warps get there; or, where the same bits are
// wanted every time, the block adds up its warps, the sums of a (splat, tile) pair go to the pair's own place, its
// emission, and every Gaussian then adds up its own run of them in a fixed order.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/pixel.cuh"
#include "stipple/backend/cuda/splat_sums.cuh"

namespace stipple {

namespace {

constexpr int kGroup = 16;  // splats in a warp's table

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
  StepStatus* status;
};

struct BackwardPixel {
  float front;   // transmittance in front of the next splat; 0 when finished
  float behind;  // S
  float dL_dchannel[4];
  float dL_dalpha;
};

// The pixel at the start of a chunk; `checkpoint` is null for the first.
template <class K>
__device__ BackwardPixel load_pixel(const BackwardInput& in, const PixelPlace& place, const float* checkpoint) {
  BackwardPixel p{0, 0, {0, 0, 0, 0}, 0};
  if (!place.is_inside) return p;
  const std::size_t plane = static_cast<std::size_t>(in.width) * static_cast<unsigned>(in.height);
  const auto before = [&](int field) { return checkpoint ? checkpoint[field * kTilePixels + threadIdx.x] : 0.0f; };
  const float front = checkpoint ? before(0) : 1.0f;  // negative when finished
  p.front = fmaxf(front, 0);
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
    p.behind += p.dL_dalpha * (fabsf(front) - in.transmittance[place.at]);
  }
  return p;
}

// A warp's table of the splats that reach its pixels, and the pixels' gradients. The second half of the pixels stands
// one further on, and rows have an odd length: lanes that read at once meet different banks.
struct Table {
  static constexpr int kStride = kWarp + 1;
  float2 weight_q[kGroup * kStride];
  float4 dL_dchannels[kWarp + 1];
  PatchSplat list[kWarp];
  std::uint8_t splat[kGroup];  // place in the batch

  static __device__ int place_of_pixel(int pixel) { return pixel + pixel / (kWarp / 2); }
};

// First phase, a lane a pixel: one splat's weight and q there. False when it is drawn in none of them.
template <class K>
__device__ bool replay_splat(const PatchSplat& s, const PatchPixel& place, float log2_alpha_max, BackwardPixel& pixel,
                             float2& weight_q) {
  const float y = exponent(s, place);
  const float front = pixel.front;
  const bool is_drawn = y >= kMinExponent && front > 0;
  if (!__any_sync(kAllLanes, is_drawn)) return false;
  const float alpha = exp2_of(fminf(y, s.line.w));
  float weight = is_drawn ? __fmul_rn(front, alpha) : 0.0f;
  const float after = __fsub_rn(front, weight);
  const bool goes_on = after >= M::min_transmittance;
  pixel.front = goes_on ? after : 0.0f;
  weight = goes_on ? weight : 0.0f;

  float p = K::kAlpha ? pixel.dL_dalpha : 0.0f;
  p = fmaf(s.color.x, pixel.dL_dchannel[0], p);
  p = fmaf(s.color.y, pixel.dL_dchannel[1], p);
  p = fmaf(s.color.z, pixel.dL_dchannel[2], p);
  if (K::kDepth) p = fmaf(s.color.w, pixel.dL_dchannel[3], p);
  pixel.behind = fmaf(-weight, p, pixel.behind);
  const float dL_dalpha = fmaf(front, p, -__fdividef(pixel.behind, 1 - alpha));
  // Where it is not drawn the weight is 0; a clamped alpha is a constant.
  weight_q = make_float2(weight, weight > 0 && y < log2_alpha_max ? alpha * dL_dalpha : 0.0f);
  return true;
}

// Second phase, lanes s and s + 16 a splat, half of the pixels each: sums over its row of the table. Moments are taken
// about the middle of the patch first, where a pixel's place is a constant.
template <class K>
__device__ void sum_row(const Table& table, const StagedSplat& s, const Patch& patch, float (&field)[K::kFields]) {
  constexpr float kUnfold = -0.693147181f;  // the conic from its folded form, times 2 on the diagonal
  const int row = lane_index() % kGroup, half = lane_index() / kGroup;
  const float2* weight_q = table.weight_q + row * Table::kStride + half * (kWarp / 2);
  const float4* gradient = table.dL_dchannels + half * (kWarp / 2 + 1);
  const float middle_x = patch.x - s.shape.x, middle_y = patch.y - s.shape.y;  // from the mean
#pragma unroll
  for (int f = 0; f < K::kFields; ++f) field[f] = 0;
#pragma unroll
  for (int line = 0; line < kPatchHeight / 2; ++line) {
    float q0 = 0, qx = 0, qxx = 0;
    const float y = static_cast<float>(line) + (half ? 0.5f : -1.5f);
#pragma unroll
    for (int column = 0; column < kPatchWidth; ++column) {
      const int i = line * kPatchWidth + column;
      const float x = static_cast<float>(column) - 0.5f * (kPatchWidth - 1);
      const auto [w, q] = weight_q[i];
      const float4 g = gradient[i];
      field[kRed] = fmaf(w, g.x, field[kRed]);
      field[kGreen] = fmaf(w, g.y, field[kGreen]);
      field[kBlue] = fmaf(w, g.z, field[kBlue]);
      if (K::kDepth) field[K::kDepthField] = fmaf(w, g.w, field[K::kDepthField]);
      q0 += q;
      qx = fmaf(q, x, qx);
      qxx = fmaf(q, x * x, qxx);
      if (K::kAbsolute) {  // conic . (dx, dy) is how q enters dL_dmean_px
        const float dx = middle_x + x, dy = middle_y + y;
        field[K::kAbsoluteField] += fabsf(kUnfold * q * (2 * s.shape.z * dx + s.shape.w * dy));
        field[K::kAbsoluteField + 1] += fabsf(kUnfold * q * (s.shape.w * dx + 2 * s.limits.x * dy));
      }
    }
    field[kM0] += q0;
    field[kMx] += qx;
    field[kMxx] += qxx;
    field[kMy] = fmaf(q0, y, field[kMy]);
    field[kMxy] = fmaf(qx, y, field[kMxy]);
    field[kMyy] = fmaf(q0, y * y, field[kMyy]);
  }
#pragma unroll
  for (int f = 0; f < K::kFields; ++f) field[f] += __shfl_xor_sync(kAllLanes, field[f], kGroup);
  // About the mean.
  const float m0 = field[kM0], mx = field[kMx], my = field[kMy];
  field[kMx] = fmaf(middle_x, m0, mx);
  field[kMy] = fmaf(middle_y, m0, my);
  field[kMxx] += middle_x * fmaf(middle_x, m0, 2 * mx);
  field[kMxy] += fmaf(middle_x, my, middle_y * field[kMx]);
  field[kMyy] += middle_y * fmaf(middle_y, m0, 2 * my);
}

__device__ void add4(float* to, float a, float b, float c, float d) {
#if __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(to), make_float4(a, b, c, d));
#else
  atomicAdd(to, a);
  atomicAdd(to + 1, b);
  atomicAdd(to + 2, c);
  atomicAdd(to + 3, d);
#endif
}

template <int kCount>
__device__ bool is_finite(const float (&value)[kCount]) {
  float zero = 0;  // stays so unless one is infinite or not a number
#pragma unroll
  for (int i = 0; i < kCount; ++i) zero = fmaf(value[i], 0, zero);
  return zero == 0;
}

// Both lanes of a splat have its sums: each adds half of them.
template <class K>
__device__ void add_to_gaussian(const float (&field)[K::kFields], float* to) {
  if (lane_index() < kGroup) {
    add4(to, field[0], field[1], field[2], field[3]);
  } else {
    add4(to + 4, field[4], field[5], field[6], field[7]);
#pragma unroll
    for (int f = 8; f < K::kFields; ++f) atomicAdd(to + f, field[f]);
  }
}

template <class K, bool kFixedOrder>
struct WarpSums {};  // what the block's warps have found, before they are added up
template <class K>
struct WarpSums<K, true> {
  float sum[kTileWarps][K::kBatch][K::kFields];
  unsigned long long written[kTileWarps];  // a bit a splat: this warp has sums of it
};

template <class K>
struct BackwardShared {
  Table table[kTileWarps];
  StagedSplat staged[K::kBatch];
  std::uint32_t place[K::kBatch];  // where a splat's sums go: the emission's, or the Gaussian's
  WarpSums<K, K::kFixedOrder> warp;
};

// A warp's table to where its sums go.
template <class K>
__device__ void empty_table(BackwardShared<K>& shared, int warp, int count, const Patch& patch, float* out,
                            StepStatus* status) {
  const Table& table = shared.table[warp];
  __syncwarp();
  const int row = lane_index() % kGroup, splat = table.splat[row < count ? row : 0];
  float field[K::kFields];
  sum_row<K>(table, shared.staged[splat], patch, field);
  if (row < count && !is_finite(field)) status->is_bad = 1;
  if constexpr (K::kFixedOrder) {
    if (lane_index() < count)
#pragma unroll
      for (int f = 0; f < K::kFields; ++f) shared.warp.sum[warp][splat][f] = field[f];
  } else {
    if (row < count) add_to_gaussian<K>(field, out + static_cast<std::size_t>(shared.place[splat]) * K::kStride);
  }
  __syncwarp();
}

// The block's warps, always in the same order, to the pairs' places.
template <class K>
__device__ void store_block_sums(const BackwardShared<K>& shared, unsigned count, std::uint32_t stamp, float* out) {
  for (unsigned i = threadIdx.x; i < count * K::kFields; i += kTilePixels) {
    const unsigned k = i / K::kFields, field = i % K::kFields;
    float sum = 0;
    bool any = false;
#pragma unroll
    for (int w = 0; w < kTileWarps; ++w)
      if (shared.warp.written[w] >> k & 1) {
        sum += shared.warp.sum[w][k][field];
        any = true;
      }
    if (!any) continue;
    float* to = out + static_cast<std::size_t>(shared.place[k]) * K::kStride;
    to[field] = sum;
    if (field == 0) to[K::kStamp] = __uint_as_float(stamp);
  }
}

// The batch's splats at this warp's pixels.
template <class K>
__device__ void replay_batch(BackwardShared<K>& shared, unsigned count, const Patch& patch, const PatchPixel& place,
                             float log2_alpha_max, BackwardPixel& pixel, float* out, StepStatus* status) {
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp;
  Table& table = shared.table[warp];
  unsigned long long written = 0;
  int filled = 0;
  for (unsigned group = 0; group < count && __any_sync(kAllLanes, pixel.front > 0); group += kWarp) {
    const int reaching = list_reaching(shared.staged + group, count - group, patch, table.list);
    for (int k = 0; k < reaching; ++k) {
      float2 weight_q;
      if (!replay_splat<K>(table.list[k], place, log2_alpha_max, pixel, weight_q)) continue;
      const unsigned splat = __float_as_uint(table.list[k].curve.w);
      table.weight_q[filled * Table::kStride + lane] = weight_q;
      if (lane == 0) table.splat[filled] = static_cast<std::uint8_t>(splat);
      if (K::kFixedOrder) written |= 1ull << splat;
      if (++filled < kGroup) continue;
      empty_table<K>(shared, warp, filled, patch, out, status);
      filled = 0;
    }
    __syncwarp();
  }
  if (filled > 0) empty_table<K>(shared, warp, filled, patch, out, status);
  if constexpr (K::kFixedOrder)
    if (lane == 0) shared.warp.written[warp] = written;
}

template <class K>
__global__ void __launch_bounds__(kTilePixels, K::kFixedOrder ? 3 : 4)
    blend_backward_kernel(BackwardInput in, float* out, std::uint32_t stamp) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& shared = *reinterpret_cast<BackwardShared<K>*>(shared_bytes);
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
  const Patch patch(place);
  const PatchPixel in_patch;
  shared.table[threadIdx.x / kWarp].dL_dchannels[Table::place_of_pixel(lane_index())] =
      make_float4(pixel.dL_dchannel[0], pixel.dL_dchannel[1], pixel.dL_dchannel[2], pixel.dL_dchannel[3]);

  for (unsigned batch = begin; batch < end; batch += K::kBatch) {
    const unsigned count = min(end - batch, static_cast<unsigned>(K::kBatch)), k = threadIdx.x;
    if (k < count) {
      const std::uint32_t gaussian = in.gaussian_from_slot[batch + k];
      StagedSplat s = stage(in.splats, gaussian, in.log2_alpha_max);
      s.limits.w = __uint_as_float(k);
      shared.staged[k] = s;
      shared.place[k] = K::kFixedOrder ? in.emission_from_slot[batch + k] : gaussian;
    }
    __syncthreads();
    replay_batch<K>(shared, count, patch, in_patch, in.log2_alpha_max, pixel, out, in.status);
    const bool is_finished = __syncthreads_and(pixel.front == 0);
    if constexpr (K::kFixedOrder) store_block_sums<K>(shared, count, stamp, out);
    if (is_finished) break;
    if constexpr (K::kFixedOrder) __syncthreads();
  }
}

// The sums of emissions begin, begin + step, ...
template <class K>
__device__ SplatSums<K> sum_partials(const float* partial, std::uint32_t stamp, unsigned begin, unsigned end,
                                      unsigned step) {
  SplatSums<K> sum;
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

constexpr int kSumThreads = 128;
constexpr unsigned kRunAlone = 16;  // emissions that a lane adds up by itself

// Every Gaussian's own run of pairs; long ones by the whole warp.
template <class K>
__device__ SplatSums<K> sum_run(const float* partial, std::uint32_t stamp, TileBins::Emissions run) {
  const bool is_long = run.end - run.begin > kRunAlone;
  SplatSums<K> sum;
  if (!is_long) sum = sum_partials<K>(partial, stamp, run.begin, run.end, 1);
  for (unsigned longs = __ballot_sync(kAllLanes, is_long); longs; longs &= longs - 1) {
    const int owner = __ffs(static_cast<int>(longs)) - 1;
    const unsigned begin = __shfl_sync(kAllLanes, run.begin, owner), end = __shfl_sync(kAllLanes, run.end, owner);
    const SplatSums<K> part = sum_partials<K>(partial, stamp, begin + lane_index(), end, kWarp);
    for (int f = 0; f < K::kFields; ++f) {
      const float total = sum_over_warp(part.field[f]);
      if (lane_index() == owner) sum.field[f] = total;
    }
  }
  return sum;
}

// A row of 40 bytes, 8 at a time.
__device__ void store_splat(const Splat& s, Splat* to, unsigned i) {
  auto* out = reinterpret_cast<float2*>(to + i);
  out[0] = make_float2(s.mean_px.x, s.mean_px.y);
  out[1] = make_float2(s.conic.x, s.conic.y);
  out[2] = make_float2(s.conic.z, s.opacity);
  out[3] = make_float2(s.channels.x, s.channels.y);
  out[4] = make_float2(s.channels.z, s.channels.w);
}

template <class K>
__global__ void __launch_bounds__(kSumThreads)
    sum_kernel(const ProjectedSplat* splats, const TileBins::Emissions* emissions, unsigned count, float* sums,
               std::uint32_t stamp, Splat* dL_dsplat, Vec2f* absolute, StepStatus* status) {
  const unsigned i = blockIdx.x * kSumThreads + threadIdx.x;
  const bool is_seen = i < count && splats[i].splat.opacity > 0;
  SplatSums<K> sum;
  if constexpr (K::kFixedOrder)
    sum = sum_run<K>(sums, stamp, is_seen && !status->has_overflowed ? emissions[i] : TileBins::Emissions{0, 0});
  else if (is_seen)
    sum = take_sums<K>(sums, i);
  if (i >= count) return;
  Splat g{{0, 0}, {0, 0, 0}, 0, {0, 0, 0, 0}};
  if (is_seen) g = splat_gradient(splats[i].splat, sum);
  store_splat(g, dL_dsplat, i);
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

// Calls f with std::true_type or std::false_type for each of the conditions.
template <class F>
void with_constants(F f) {
  f();
}
template <class F, class... Conditions>
void with_constants(F f, bool first, Conditions... rest) {
  if (first)
    with_constants([&](auto... others) { f(std::true_type(), others...); }, rest...);
  else
    with_constants([&](auto... others) { f(std::false_type(), others...); }, rest...);
}

}  // namespace

// Sums of Gaussians must be zero before, and are again afterwards. Sums of pairs may be anything but stamped: fresh
// memory is cleared, and in used memory there are only other passes' stamps.
void CudaBackend::prepare_sums(std::size_t rows, int stride) {
  if (sums_.size() < rows * stride || sums_stride_ != stride || sums_stamp_ == kLastStamp) {
    sums_.resize_zero(*this, rows * stride);
    sums_stride_ = stride;
    sums_stamp_ = kFirstStamp;
  }
  ++sums_stamp_;
}

void CudaBackend::blend_backward_into(const Projection& projection, const TileBins& bins, const View& view,
                                      const Frame& frame, const FrameGradient& dL_dframe, bool leaves_sums,
                                      SplatGradient& out) {
  const std::size_t count = projection.splat.size(), slot_count = bins.gaussian_from_slot.size();
  const std::size_t tile_count = bins.slot_begin_from_tile.size() - 1;
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
                         std::log2(view.options.alpha_max),
                         status()};
  const auto run = [&](auto depth, auto alpha, auto absolute, auto fixed_order) {
    using K = GradientKind<depth(), alpha(), absolute(), fixed_order()>;
    prepare_sums(K::kFixedOrder ? slot_count : count, K::kStride);
    const auto blocks = static_cast<unsigned>(tile_count + max_chunk_count(slot_count));
    constexpr int kSharedBytes = sizeof(BackwardShared<K>);
    check(cudaFuncSetAttribute(blend_backward_kernel<K>, cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes),
          "set aside shared memory");
    blend_backward_kernel<K><<<blocks, kTilePixels, kSharedBytes, stream()>>>(in, pointer(sums_), sums_stamp_);
    sums_are_pending_ = leaves_sums && !K::kFixedOrder;
    if (sums_are_pending_) return;
    sum_kernel<K><<<blocks_for(count, kSumThreads), kSumThreads, 0, stream()>>>(
        pointer(projection.splat), pointer(bins.emissions_from_gaussian), static_cast<unsigned>(count), pointer(sums_),
        sums_stamp_, pointer(out.splat), pointer(out.absolute_mean_px), status());
  };
  with_constants(run, !dL_dframe.depth.empty(), !dL_dframe.alpha.empty(), out.wants_absolute, deterministic_);
  check(cudaGetLastError(), "start blend_backward");
}

void CudaBackend::blend_backward(const Projection& projection, const TileBins& bins, const View& view,
                                 const Frame& frame, const FrameGradient& dL_dframe, SplatGradient& out) {
  clear_status();
  blend_backward_into(projection, bins, view, frame, dL_dframe, false, out);
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
