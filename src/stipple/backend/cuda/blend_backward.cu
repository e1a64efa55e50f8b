// SPDX-License-Identifier: Apache-2.0
// blend_backward: from the frame's gradient to the splats' gradients.
//
// One thread block per chunk replays the chunk's splats front to back. For a splat at a pixel, let
// p = channels . dL_dchannels + dL_dalpha, with the pixel's gradients, and let S be the dot product of these
// gradients with all that lies behind the splat: with the whole pixel at first, less p alpha T for each splat
// passed. The gradient of the splat's own alpha is then dL_dalpha = p T - S / (1 - alpha). Only the moments
// of q = alpha dL_dalpha in math/blending.glsl are kept: the conic is multiplied in once per splat.
//
// A warp processes the splats that reach its pixels in groups of 16, in two phases. First, each lane replays
// its own pixels front to back, and writes the splats' weights and q to shared memory, as tables of splats by
// pixels. Then the tensor cores multiply the tables with the pixels' gradients and with the monomials of the
// pixels' positions. These products are the sums over pixels; reductions across lanes would cost more than
// all the rest.
//
// The sums are added atomically to the splat's sums in memory, in the order in which warps get there. Where
// the same bits are wanted every time, the block adds up its warps and stores the sums of each pair of splat
// and tile separately, and every splat then adds up its own run of pairs in a fixed order.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/backward_tables.cuh"
#include "stipple/backend/cuda/shared/pixel_patch.cuh"
#include "stipple/backend/cuda/shared/sum_pairs.cuh"

namespace stipple::cuda {

namespace {

// Stamps are the bits of NaNs that arithmetic never produces, so that no sum is mistaken for one.
constexpr std::uint32_t kFirstStamp = 0x7f800001, kLastStamp = 0x7fbfffff;

struct BackwardInput {
  const ProjectedSplat* splats;
  const std::uint32_t *splat_from_slot, *pair_from_slot, *slot_begin, *slot_end;
  const Chunk* chunks;
  const float* checkpoint;
  BackwardSource source;
  int columns, first_row, width, height;
  unsigned tile_count;
  int checkpoint_stride;
  float log2_alpha_max;
  ViewStatus* status;
};

// A pixel at the start of a chunk; `checkpoint` is null for a tile's first chunk.
template <class K>
__device__ BackwardPixel load_pixel(const BackwardInput& in, const PixelPlace& place, int i,
                                    const float* checkpoint) {
  BackwardPixel p{0, 0, {0, 0, 0, 0}, 0};
  if (!place.is_inside[i]) return p;
  const std::size_t plane = static_cast<std::size_t>(in.width) * static_cast<unsigned>(in.height),
                    at = place.at[i];
  const auto before = [&](int field) {
    return checkpoint ? checkpoint[field * kTilePixels + place.in_tile[i]] : 0.0f;
  };
  const float front = checkpoint ? before(0) : 1.0f;  // negative when finished
  p.front = fmaxf(front, 0);
  const BackwardSource& source = in.source;
  for (int k = 0; k < 3; ++k) {
    if (K::kGiven && k >= source.channel_count) break;
    p.dL_dchannel[k] = source.dL_dplanes[k * plane + at];
    p.behind += p.dL_dchannel[k] * (source.planes[k * plane + at] - before(1 + k));
  }
  if (K::kFourth && (!K::kGiven || source.dL_dfourth)) {
    p.dL_dchannel[3] = source.dL_dfourth[at];
    p.behind += p.dL_dchannel[3] * (source.fourth[at] - before(4));
  }
  if (!K::kGiven && source.dL_dalpha) {
    p.dL_dalpha = source.dL_dalpha[at];
    p.behind += p.dL_dalpha * (fabsf(front) - source.transmittance[at]);
  }
  return p;
}

// First phase: one splat at one pixel. Returns weight and q, which are zero where the splat is not drawn.
template <class K>
__device__ float2 replay_pixel(const PatchSplat& s, float y, float log2_alpha_max, BackwardPixel& pixel) {
  const float front = pixel.front, alpha = exp2_of(fminf(y, s.line.w));
  float weight = y >= M::min_exponent ? __fmul_rn(front, alpha) : 0.0f;
  const float after = __fsub_rn(front, weight);
  const bool goes_on = after >= M::min_transmittance;
  pixel.front = goes_on ? after : 0.0f;
  weight = goes_on ? weight : 0.0f;

  float p = fmaf(s.curve_red.w, pixel.dL_dchannel[0], pixel.dL_dalpha);
  p = fmaf(s.green_blue.x, pixel.dL_dchannel[1], p);
  p = fmaf(s.green_blue.y, pixel.dL_dchannel[2], p);
  if (K::kFourth) p = fmaf(s.depth, pixel.dL_dchannel[3], p);
  pixel.behind = fmaf(-weight, p, pixel.behind);
  const float dL_dalpha = fmaf(front, p, -pixel.behind * reciprocal(1 - alpha));
  // A clamped alpha is constant and has no gradient.
  return make_float2(weight, weight > 0 && y < log2_alpha_max ? alpha * dL_dalpha : 0.0f);
}

__device__ void add4(float* to, float4 value) {
#if __CUDA_ARCH__ >= 900
  atomicAdd(reinterpret_cast<float4*>(to), value);
#else
  atomicAdd(to, value.x);
  atomicAdd(to + 1, value.y);
  atomicAdd(to + 2, value.z);
  if (value.w != 0) atomicAdd(to + 3, value.w);
#endif
}

// Splats between two barriers: all of a chunk, or fewer where shared memory must also hold the warps' sums.
constexpr int batch_size(bool fixed_order) { return fixed_order ? 64 : kChunk; }

template <bool kFixedOrder>
struct WarpSums {};  // of each warp, before the block adds them up
template <>
struct WarpSums<true> {
  float4 sum[kTileWarps][batch_size(true)][kFields / 4];
  unsigned long long written[kTileWarps];  // one bit per splat: this warp has sums for it
};

template <class K>
struct BackwardShared {
  static constexpr int kBatch = batch_size(K::kFixedOrder);
  Table table[kTileWarps];
  StagedSplat staged[kBatch];
  std::uint32_t place[kBatch];  // row of a splat's sums: the pair's or its own
  WarpSums<K::kFixedOrder> warp;
};

// Reduces the warp's tables, whose rows are the `count` listed splats from number `first` on, and passes on
// the sums.
template <class K>
__device__ void empty_tables(BackwardShared<K>& shared, int warp, unsigned first, int count,
                             const Patch& patch, const Factors& factors, float* out, ViewStatus* status) {
  const Table& table = shared.table[warp];
  __syncwarp();
  RowSums sums[2];
  multiply_tables(table, factors, sums);
  Vec2f absolute(0, 0);
  if constexpr (K::kAbsolute) {
    const int row = lane_index() % kGroup;
    absolute = sum_absolute(table, shared.staged[table.splat_of_row(first, row < count ? row : 0)], patch);
  }
  const int g = lane_index() / 4, t = lane_index() % 4;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int row = g + 8 * r, splat = table.splat_of_row(first, row < count ? row : 0);
    const float4 shape = shared.staged[splat].shape;
    move_to_mean(patch.x - shape.x, patch.y - shape.y, sums[r]);
    float4 value = make_float4(sums[r].channel, sums[r].moment[0], sums[r].moment[1], 0);
    if constexpr (K::kFourth) {
      const float depth = __shfl_sync(kAllLanes, sums[r].channel, lane_index() | 3);
      if (t == 0) value.w = depth;
    }
    if constexpr (K::kAbsolute) {
      const float x = __shfl_sync(kAllLanes, absolute.x, row), y = __shfl_sync(kAllLanes, absolute.y, row);
      if (t > 0) value.w = t == 1 ? x : y;
    }
    if (row >= count || t == 3) continue;
    if (!(fmaf(value.x, 0, fmaf(value.y, 0, fmaf(value.z, 0, value.w * 0))) == 0)) status->is_bad = 1;
    if constexpr (K::kFixedOrder)
      shared.warp.sum[warp][splat][t] = value;
    else
      add4(out + static_cast<std::size_t>(shared.place[splat]) * K::kStride + 4 * t, value);
  }
  __syncwarp();
}

// Adds up the block's warps, always in the same order, and stores the sums of each pair.
template <class K>
__device__ void store_block_sums(const BackwardShared<K>& shared, unsigned count, std::uint32_t stamp,
                                 float* out) {
  constexpr unsigned kParts = kFields / 4;
  for (unsigned i = threadIdx.x; i < count * kParts; i += kTileThreads) {
    const unsigned k = i / kParts, part = i % kParts;
    float4 sum = make_float4(0, 0, 0, 0);
    bool any = false;
#pragma unroll
    for (int w = 0; w < kTileWarps; ++w)
      if (shared.warp.written[w] >> k & 1) {
        const float4 v = shared.warp.sum[w][k][part];
        sum = make_float4(sum.x + v.x, sum.y + v.y, sum.z + v.z, sum.w + v.w);
        any = true;
      }
    if (!any) continue;
    float* to = out + static_cast<std::size_t>(shared.place[k]) * K::kStride;
    if (!K::kAbsolute && part == kParts - 1) sum.w = __uint_as_float(stamp);
    reinterpret_cast<float4*>(to)[part] = sum;
    if (K::kAbsolute && part == 0) to[K::kStamp] = __uint_as_float(stamp);
  }
}

// Replays the batch's splats at this warp's pixels.
template <class K>
__device__ void replay_batch(BackwardShared<K>& shared, unsigned count, const Patch& patch,
                             const PatchPixels& place, float log2_alpha_max, const Factors& factors,
                             BackwardState& state, float* out, ViewStatus* status) {
  const int lane = lane_index(), warp = static_cast<int>(threadIdx.x) / kWarp;
  Table& table = shared.table[warp];
  unsigned long long written = 0;
  unsigned listed = 0;  // splats so far; each takes the next row of the tables, cyclically
  for (unsigned group = 0; group < count && !__all_sync(kAllLanes, state.is_finished()); group += kWarp) {
    int in_list;
    const unsigned reaching = list_reaching(shared.staged + group, count - group, patch, table.list, in_list);
    if (in_list >= 0)
      table.splat[(listed + in_list) % Table::kRemembered] = static_cast<std::uint8_t>(group + lane);
    if (K::kFixedOrder) written |= static_cast<unsigned long long>(reaching) << group;
    for (const PatchSplat *next = table.list, *end = next + __popc(reaching); next < end; ++next) {
      const PatchSplat s = *next;
      const ColumnTerms terms(s, place);
      float2 weight_q[kLanePixels];
#pragma unroll
      for (int i = 0; i < kLanePixels; ++i)
        weight_q[i] = replay_pixel<K>(s, exponent(s, terms, place.y[i]), log2_alpha_max, state.pixel[i]);
      float2* row = table.weight_q + listed % kGroup * Table::kStride + lane;
#pragma unroll
      for (int i = 0; i < kLanePixels; ++i) row[PixelPlace::pixel_of(0, i)] = weight_q[i];
      if (++listed % kGroup == 0)
        empty_tables<K>(shared, warp, listed - kGroup, kGroup, patch, factors, out, status);
    }
    __syncwarp();
  }
  const unsigned left = listed % kGroup;
  if (left > 0)
    empty_tables<K>(shared, warp, listed - left, static_cast<int>(left), patch, factors, out, status);
  if constexpr (K::kFixedOrder)
    if (lane == 0) shared.warp.written[warp] = written;
}

template <class K>
__global__ void __launch_bounds__(kTileThreads, 4)
    blend_backward_kernel(BackwardInput in, float* out, std::uint32_t stamp) {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  auto& shared = *reinterpret_cast<BackwardShared<K>*>(shared_bytes);
  const bool is_first = blockIdx.x < in.tile_count;
  if (!is_first && blockIdx.x - in.tile_count >= *in.source.chunk_count) return;
  const Chunk chunk =
      is_first ? Chunk{blockIdx.x, in.slot_begin[blockIdx.x]} : in.chunks[blockIdx.x - in.tile_count];
  const unsigned tile = chunk.tile, begin = chunk.slot_begin, end = min(begin + kChunk, in.slot_end[tile]);
  if (begin >= end) return;

  const PixelPlace place(tile, in.columns, in.first_row, in.width, in.height);
  const float* checkpoint =
      is_first ? nullptr
               : in.checkpoint + static_cast<std::size_t>(blockIdx.x - in.tile_count) * in.checkpoint_stride;
  BackwardState state;
#pragma unroll
  for (int i = 0; i < kLanePixels; ++i) state.pixel[i] = load_pixel<K>(in, place, i, checkpoint);
  const Patch patch(place);
  const PatchPixels in_patch;
  const Factors factors(state, &shared.table[threadIdx.x / kWarp].weight_q[0].x);

  constexpr unsigned kBatch = BackwardShared<K>::kBatch;
  for (unsigned batch = begin; batch < end; batch += kBatch) {
    const unsigned count = min(end - batch, kBatch);
    for (unsigned k = threadIdx.x; k < count; k += kTileThreads) {
      const std::uint32_t splat = in.splat_from_slot[batch + k];
      shared.staged[k] = stage<K::kGiven>(in.splats, in.source.channels, splat, in.log2_alpha_max);
      shared.place[k] = K::kFixedOrder ? in.pair_from_slot[batch + k] : splat;
    }
    __syncthreads();
    replay_batch<K>(shared, count, patch, in_patch, in.log2_alpha_max, factors, state, out, in.status);
    const bool is_finished = __syncthreads_and(state.is_finished());
    if constexpr (K::kFixedOrder) store_block_sums<K>(shared, count, stamp, out);
    if (is_finished) break;
    if constexpr (K::kFixedOrder) __syncthreads();
  }
}

constexpr int kBackgroundThreads = 1024;

// The sum over pixels of dL_dcolor * transmittance; one block, since it is rarely wanted.
__global__ void __launch_bounds__(kBackgroundThreads)
    background_kernel(const float* dL_dcolor, const float* transmittance, std::size_t plane,
                      ViewStatus* out) {
  for (int k = 0; k < 3; ++k) {
    double sum = 0;
    for (std::size_t i = threadIdx.x; i < plane; i += kBackgroundThreads)
      sum += static_cast<double>(dL_dcolor[k * plane + i] * transmittance[i]);
    sum = sum_over_block<kBackgroundThreads>(sum);
    if (threadIdx.x == 0) out->background[k] = static_cast<float>(sum);
  }
}

// Calls f with a std::true_type or std::false_type for each condition.
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

// Converts the sums that blend_backward_kernel left in the pass to gradients of the splats.
template <class K>
void write_gradients(CudaPass& pass, const Projection& projection, SplatGradient& out, cudaStream_t stream) {
  const std::size_t count = projection.splat.size();
  sum_kernel<K><<<blocks_for(count, kSumThreads), kSumThreads, 0, stream>>>(
      pointer(projection.splat), pointer(pass.pairs_from_splat), static_cast<unsigned>(count),
      pointer(pass.sums), pass.sums_stamp, pointer(out.splat), pointer(out.absolute_mean_px),
      pass.view_status());
}

// Adds one group's gradients to those of the splats, except for their channels, and stores those of the
// group's channels. One thread per Gaussian; those that are not shown keep their zeros.
__global__ void add_group_kernel(const Splat* group, unsigned count, int stride, int first,
                                 const VisibleBlock* visible, unsigned row_capacity, const ViewStatus* status,
                                 Splat* dL_dsplat, float* dL_dchannels) {
  const unsigned i = blockIdx.x * kSumThreads + threadIdx.x;
  const LaneRow at = row_of_lane(visible, i, count);
  if (!at.is_shown || at.row >= written_rows(status, row_capacity)) return;
  const Splat from = group[at.row];
  Splat& to = dL_dsplat[at.row];
  to.mean_px = to.mean_px + from.mean_px;
  to.conic = to.conic + from.conic;
  to.opacity += from.opacity;
  float* channels = dL_dchannels + static_cast<std::size_t>(i) * stride + first;
  const float value[4] = {from.channels.x, from.channels.y, from.channels.z, from.channels.w};
  for (int k = 0; k < 4 && first + k < stride; ++k) channels[k] = value[k];
}

}  // namespace

// Sums of splats must be zero beforehand, and whoever reads them clears them again. Sums of pairs may hold
// anything but the current stamp: fresh memory is cleared, and used memory has only earlier stamps.
void CudaBackend::prepare_sums(CudaPass& pass, std::size_t rows, int stride) {
  if (pass.sums.size() < rows * stride || pass.sums_stride != stride || pass.sums_stamp == kLastStamp ||
      pass.sums_are_pending) {
    pass.sums.resize_zero(*this, rows * stride);
    pass.sums_stride = stride;
    pass.sums_stamp = kFirstStamp;
    pass.sums_are_pending = false;
  }
  ++pass.sums_stamp;
}

void CudaBackend::sum_gradients(const View& view, const BackwardSource& source, const ChunkList& chunks,
                                bool leaves_sums, bool wants_absolute, SplatGradient& out, Pass& pass) {
  CudaPass& mine = own(pass);
  const TileBins& bins = pass.bins;
  const std::size_t count = pass.projection.splat.size(), slot_count = bins.splat_from_slot.size();
  const std::size_t tile_count = bins.slot_begin_from_tile.size() - 1;
  const bool leaves = leaves_sums && !deterministic_ && count > 0;
  const std::size_t written = leaves ? 0 : count;
  out.splat.resize(*this, written);
  out.absolute_mean_px.resize(*this, wants_absolute ? written : 0);
  if (count == 0) {
    mine.sums_are_pending = false;
    return;
  }
  const BackwardInput in{pointer(pass.projection.splat),
                         pointer(bins.splat_from_slot),
                         pointer(mine.pair_from_slot),
                         pointer(bins.slot_begin_from_tile),
                         pointer(chunks.slot_end_from_tile),
                         pointer(chunks.chunks),
                         pointer(chunks.checkpoint),
                         source,
                         bins.column_count,
                         bins.first_row,
                         view.camera.width_px,
                         view.camera.height_px,
                         static_cast<unsigned>(tile_count),
                         checkpoint_fields(source.channels || source.fourth) * kTilePixels,
                         std::log2(view.options.alpha_max),
                         mine.view_status()};
  const auto run = [&](auto kind) {
    using K = decltype(kind);
    prepare_sums(mine, K::kFixedOrder ? slot_count : count, K::kStride);
    const auto blocks = static_cast<unsigned>(tile_count + max_chunk_count(slot_count));
    constexpr int kSharedBytes = sizeof(BackwardShared<K>);
    check(cudaFuncSetAttribute(blend_backward_kernel<K>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               kSharedBytes),
          "reserve shared memory");
    blend_backward_kernel<K>
        <<<blocks, kTileThreads, kSharedBytes, stream()>>>(in, pointer(mine.sums), mine.sums_stamp);
    if (!leaves) write_gradients<K>(mine, pass.projection, out, stream());
  };
  if (source.channels)
    with_constants([&](auto fixed_order) { run(GradientKind<true, false, fixed_order(), true>()); },
                   deterministic_);
  else
    with_constants([&](auto fourth, auto absolute,
                       auto fixed_order) { run(GradientKind<fourth(), absolute(), fixed_order()>()); },
                   source.dL_dfourth != nullptr, wants_absolute, deterministic_);
  mine.sums_are_pending = leaves;
  mine.sums_have_fourth = source.dL_dfourth != nullptr;
  mine.sums_have_absolute = wants_absolute;
  check(cudaGetLastError(), "launch blend_backward");
}

void CudaBackend::write_pending_gradients(Pass& pass) {
  CudaPass& mine = own(pass);
  if (!mine.sums_are_pending) return;
  const std::size_t count = pass.projection.splat.size();
  pass.dL_dsplat.splat.resize(*this, count);
  pass.dL_dsplat.absolute_mean_px.resize(*this, mine.sums_have_absolute ? count : 0);
  with_constants(
      [&](auto fourth, auto absolute) {
        write_gradients<GradientKind<fourth(), absolute(), false>>(mine, pass.projection, pass.dL_dsplat,
                                                                   stream());
      },
      mine.sums_have_fourth, mine.sums_have_absolute);
  mine.sums_are_pending = false;
}

void CudaBackend::blend_backward(const View& view, const WantedGradients& wanted, Pass& pass) {
  check_frame_gradient(pass);
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  BackwardSource source;
  source.planes = pointer(pass.frame.color);
  source.fourth = pointer(pass.frame.depth);
  source.transmittance = pointer(pass.frame.transmittance);
  source.dL_dplanes = pointer(pass.dL_dframe.color);
  source.dL_dfourth = pointer(pass.dL_dframe.depth);
  source.dL_dalpha = pointer(pass.dL_dframe.alpha);
  source.chunk_count = &mine.view_status()->chunk_count;
  sum_gradients(view, source, mine.chunks, !wanted.splats, wanted.absolute_mean, pass.dL_dsplat, pass);
  if (wanted.background && !pass.frame.transmittance.empty()) {
    background_kernel<<<1, kBackgroundThreads, 0, stream()>>>(
        source.dL_dplanes, source.transmittance, pass.frame.transmittance.size(), mine.view_status());
    check(cudaGetLastError(), "launch blend_backward");
  }
  mine.events.record(Stage::kBlendBackward, stream());
}

// A group of channels is blended and differentiated as if it were the colour. Gradients are linear in
// dL_dplanes, so those of a splat's position, shape and opacity are the sums over the groups.
void CudaBackend::blend_channels_backward(const View& view, const Channels& channels,
                                          const DeviceArray<float>& planes,
                                          const DeviceArray<float>& dL_dplanes, Pass& pass,
                                          DeviceArray<float>& dL_dchannels) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  write_pending_gradients(pass);
  dL_dchannels.resize_zero(*this, channels.value.size());
  const std::size_t plane = pass.frame.transmittance.size(), rows = pass.projection.splat.size();
  if (rows == 0) return;
  const std::size_t count = channels.value.size() / static_cast<std::size_t>(channels.count);
  DeviceArray<float4> group;
  DeviceArray<unsigned> chunk_count;
  ChunkList chunks;
  SplatGradient gradient;
  for (int first = 0; first < channels.count; first += kChannelGroup) {
    load_channel_group(channels, first, pass.projection, group);
    chunk_count.resize_zero(*this, 1);
    BlendTarget target;
    target.channels = pointer(group);
    blend_into(view, target, &chunks, pointer(chunk_count), pass);  // for the checkpoints
    BackwardSource source;
    source.channels = pointer(group);
    source.channel_count = std::min(kChannelGroup, channels.count - first);
    source.planes = pointer(planes) + static_cast<std::size_t>(first) * plane;
    source.dL_dplanes = pointer(dL_dplanes) + static_cast<std::size_t>(first) * plane;
    if (source.channel_count == 4) {
      source.fourth = source.planes + 3 * plane;
      source.dL_dfourth = source.dL_dplanes + 3 * plane;
    }
    source.chunk_count = pointer(chunk_count);
    sum_gradients(view, source, chunks, false, false, gradient, pass);
    add_group_kernel<<<blocks_for(count, kSumThreads), kSumThreads, 0, stream()>>>(
        pointer(gradient.splat), static_cast<unsigned>(count), channels.count, first,
        pointer(pass.projection.visible), static_cast<unsigned>(rows), mine.view_status(),
        pointer(pass.dL_dsplat.splat), pointer(dL_dchannels));
    check(cudaGetLastError(), "launch blend_channels_backward");
  }
  mine.events.record(Stage::kBlendBackward, stream());
}

}  // namespace stipple::cuda
