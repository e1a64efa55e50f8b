// SPDX-License-Identifier: Apache-2.0
// blend: blends the splats of each tile, nearest first, into its pixels. Splats are loaded into shared memory
// in batches. Of every 32, a warp first lists those that reach its own pixels, one lane per splat, and blends
// only these.
#include <utility>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/pixel_patch.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"

namespace stipple::cuda {

namespace {

constexpr int kGroupThreads = 256;

struct BlendInput {
  const ProjectedSplat* splats;
  const std::uint32_t *splat_from_slot, *slot_begin;
  int columns, first_row, width, height;
  float log2_alpha_max;
  BlendTarget target;
};

struct BlendOutput {
  float* checkpoint;
  std::uint32_t* slot_end;  // null to store no chunks
  unsigned* chunk_count;
  Chunk* chunks;
};

struct PixelState {
  float front;          // transmittance in front of the next splat; 0 when finished
  float transmittance;  // the last nonzero value of front
  float channel[4];
};

// Branch-free: most splats that get here are drawn in some of the warp's pixels. Products are rounded
// separately, as in blend_backward.
template <bool kFourth>
__device__ void blend_pixel(const PatchSplat& s, float y, PixelState& pixel) {
  const float alpha = exp2_of(fminf(y, s.line.w));
  float weight = y >= M::min_exponent ? __fmul_rn(pixel.front, alpha) : 0.0f;
  const float after = __fsub_rn(pixel.front, weight);
  // A splat that would take the transmittance below the limit is not drawn, and finishes the pixel.
  const bool goes_on = after >= M::min_transmittance;
  pixel.front = goes_on ? after : 0.0f;
  pixel.transmittance = goes_on ? after : pixel.transmittance;
  weight = goes_on ? weight : 0.0f;
  pixel.channel[0] = fmaf(weight, s.curve_red.w, pixel.channel[0]);
  pixel.channel[1] = fmaf(weight, s.green_blue.x, pixel.channel[1]);
  pixel.channel[2] = fmaf(weight, s.green_blue.y, pixel.channel[2]);
  if (kFourth) pixel.channel[3] = fmaf(weight, s.depth, pixel.channel[3]);
}

struct LaneState {
  PixelState pixel[kLanePixels];

  __device__ bool is_finished() const { return are_finished(pixel); }
};

template <bool kFourth>
__device__ void store_checkpoint(const LaneState& state, const PixelPlace& place, float* to) {
#pragma unroll
  for (int i = 0; i < kLanePixels; ++i) {
    const PixelState& p = state.pixel[i];
    to[place.in_tile[i]] = p.front > 0 ? p.front : -p.transmittance;
    for (int k = 0; k < (kFourth ? 4 : 3); ++k) to[(1 + k) * kTilePixels + place.in_tile[i]] = p.channel[k];
  }
}

// Given channels may be fewer than four, and their planes may not be wanted at all.
template <bool kFourth, bool kGiven>
__device__ void store_pixels(const LaneState& state, const PixelPlace& place, const BlendInput& in) {
  const BlendTarget& to = in.target;
  if (kGiven && !to.planes) return;
  const std::size_t plane = static_cast<std::size_t>(in.width) * static_cast<unsigned>(in.height);
#pragma unroll
  for (int i = 0; i < kLanePixels; ++i) {
    if (!place.is_inside[i]) continue;
    const PixelState& p = state.pixel[i];
    if (!kGiven) to.transmittance[place.at[i]] = p.transmittance;
    for (int k = 0; k < 3; ++k)
      if (!kGiven || k < to.channel_count)
        to.planes[k * plane + place.at[i]] = fmaf(p.transmittance, to.background[k], p.channel[k]);
    if (kFourth && (!kGiven || to.fourth)) to.fourth[place.at[i]] = p.channel[3];
  }
}

template <bool kFourth, bool kGiven>
__global__ void __launch_bounds__(kTileThreads) blend_kernel(BlendInput in, BlendOutput out) {
  constexpr unsigned kBatch = kTileThreads;
  static_assert(kChunk % kBatch == 0, "chunks must begin where batches do");
  __shared__ StagedSplat staged[kBatch];
  __shared__ PatchSplat lists[kTileWarps][kWarp];
  __shared__ unsigned chunk;
  const unsigned tile = blockIdx.x;
  const PixelPlace place(tile, in.columns, in.first_row, in.width, in.height);
  const Patch patch(place);
  const PatchPixels in_patch;
  PatchSplat* list = lists[threadIdx.x / kWarp];
  LaneState state;
#pragma unroll
  for (int i = 0; i < kLanePixels; ++i) state.pixel[i] = {place.is_inside[i] ? 1.0f : 0.0f, 1, {0, 0, 0, 0}};
  const unsigned begin = in.slot_begin[tile], end = in.slot_begin[tile + 1];
  unsigned batch = begin;
  for (; batch < end; batch += kBatch) {
    if (__syncthreads_and(state.is_finished())) break;
    const bool begins_chunk = batch > begin && (batch - begin) % kChunk == 0 && (!kGiven || out.slot_end);
    if (begins_chunk && threadIdx.x == 0) {
      chunk = atomicAdd(out.chunk_count, 1u);
      out.chunks[chunk] = {tile, batch};
    }
    const unsigned count = min(end - batch, kBatch);
    if (threadIdx.x < count)
      staged[threadIdx.x] = stage<kGiven>(in.splats, in.target.channels,
                                          in.splat_from_slot[batch + threadIdx.x], in.log2_alpha_max);
    __syncthreads();
    if (begins_chunk)
      store_checkpoint<kFourth>(
          state, place,
          out.checkpoint + static_cast<std::size_t>(chunk) * checkpoint_fields(kFourth) * kTilePixels);
    for (unsigned group = 0; group < count; group += kWarp) {
      if (__all_sync(kAllLanes, state.is_finished())) break;
      int unused;
      const int reaching = __popc(list_reaching(staged + group, count - group, patch, list, unused));
#pragma unroll 2
      for (int k = 0; k < reaching; ++k) {
        const PatchSplat& s = list[k];
        const ColumnTerms terms(s, in_patch);
#pragma unroll
        for (int i = 0; i < kLanePixels; ++i)
          blend_pixel<kFourth>(s, exponent(s, terms, in_patch.y[i]), state.pixel[i]);
      }
      __syncwarp();
    }
  }
  if (threadIdx.x == 0 && (!kGiven || out.slot_end)) out.slot_end[tile] = min(batch, end);
  store_pixels<kFourth, kGiven>(state, place, in);
}

// Copies four channels of each Gaussian that is shown to its row; zero past the last.
__global__ void channel_group_kernel(const float* value, unsigned count, int stride, int first,
                                     const VisibleBlock* visible, unsigned row_capacity, float4* group) {
  const unsigned i = blockIdx.x * kGroupThreads + threadIdx.x;
  const LaneRow to = row_of_lane(visible, i, count);
  if (!to.is_shown || to.row >= row_capacity) return;
  const float* from = value + static_cast<std::size_t>(i) * stride + first;
  const auto at = [&](int k) { return first + k < stride ? from[k] : 0.0f; };
  group[to.row] = make_float4(at(0), at(1), at(2), at(3));
}

}  // namespace

void CudaBackend::blend_into(const View& view, const BlendTarget& target, ChunkList* chunks,
                             unsigned* chunk_count, const Pass& pass) {
  const TileBins& bins = pass.bins;
  const std::size_t tile_count = bins.slot_begin_from_tile.size() - 1;
  const bool has_fourth = target.channels || target.fourth;
  BlendOutput out{};
  if (chunks) {
    const std::size_t max_chunks = max_chunk_count(bins.splat_from_slot.size());
    chunks->slot_end_from_tile.resize(*this, tile_count);
    chunks->chunks.resize(*this, max_chunks);
    chunks->checkpoint.resize(*this, max_chunks * checkpoint_fields(has_fourth) * kTilePixels);
    out = {pointer(chunks->checkpoint), pointer(chunks->slot_end_from_tile), chunk_count,
           pointer(chunks->chunks)};
  }
  if (tile_count == 0) return;
  const BlendInput in{pointer(pass.projection.splat),
                      pointer(bins.splat_from_slot),
                      pointer(bins.slot_begin_from_tile),
                      bins.column_count,
                      bins.first_row,
                      view.camera.width_px,
                      view.camera.height_px,
                      std::log2(view.options.alpha_max),
                      target};
  const auto blocks = static_cast<unsigned>(tile_count);
  if (target.channels)
    blend_kernel<true, true><<<blocks, kTileThreads, 0, stream()>>>(in, out);
  else if (has_fourth)
    blend_kernel<true, false><<<blocks, kTileThreads, 0, stream()>>>(in, out);
  else
    blend_kernel<false, false><<<blocks, kTileThreads, 0, stream()>>>(in, out);
  check(cudaGetLastError(), "launch blend");
}

void CudaBackend::blend(const View& view, Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  Frame& out = pass.frame;
  out.width_px = view.camera.width_px;
  out.height_px = view.camera.height_px;
  const std::size_t pixel_count = static_cast<std::size_t>(out.width_px) * out.height_px;
  out.color.resize(*this, 3 * pixel_count);
  out.transmittance.resize(*this, pixel_count);
  out.depth.resize(*this, view.options.depth != DepthOutput::kNone ? pixel_count : 0);
  unsigned* chunk_count = &mine.view_status()->chunk_count;
  if (std::exchange(mine.has_blended, true))
    check(cudaMemsetAsync(chunk_count, 0, sizeof(unsigned), stream()), "clear memory");
  BlendTarget target;
  target.planes = pointer(out.color);
  target.fourth = pointer(out.depth);
  target.transmittance = pointer(out.transmittance);
  target.background = view.options.background;
  blend_into(view, target, &mine.chunks, chunk_count, pass);
  mine.events.record(Stage::kBlend, stream());
}

void CudaBackend::load_channel_group(const Channels& channels, int first, const Projection& projection,
                                     DeviceArray<float4>& group) {
  const std::size_t count = channels.value.size() / static_cast<std::size_t>(channels.count);
  group.resize(*this, projection.splat.size());
  if (group.empty()) return;
  channel_group_kernel<<<blocks_for(count, kGroupThreads), kGroupThreads, 0, stream()>>>(
      pointer(channels.value), static_cast<unsigned>(count), channels.count, first,
      pointer(projection.visible), static_cast<unsigned>(group.size()), pointer(group));
  check(cudaGetLastError(), "launch blend_channels");
}

void CudaBackend::blend_channels(const View& view, const Channels& channels, Pass& pass,
                                 DeviceArray<float>& planes) {
  const DeviceGuard guard(*context_);
  const std::size_t plane = static_cast<std::size_t>(pass.frame.width_px) * pass.frame.height_px;
  planes.resize(*this, plane * static_cast<std::size_t>(channels.count));
  DeviceArray<float4> group;
  for (int first = 0; first < channels.count; first += kChannelGroup) {
    load_channel_group(channels, first, pass.projection, group);
    if (group.empty()) {
      fill_zero(*planes.memory(), planes.size() * sizeof(float));
      return;
    }
    BlendTarget target;
    target.channels = pointer(group);
    target.channel_count = std::min(kChannelGroup, channels.count - first);
    target.planes = pointer(planes) + static_cast<std::size_t>(first) * plane;
    target.fourth = target.channel_count == 4 ? target.planes + 3 * plane : nullptr;
    blend_into(view, target, nullptr, nullptr, pass);
  }
  own(pass).events.record(Stage::kBlend, stream());
}

}  // namespace stipple::cuda
