// SPDX-License-Identifier: Apache-2.0
// blend: the splats of each tile, nearest first, into its pixels. Splats are brought into shared memory a
// batch at a time; of every 32, a warp first lists those that reach its own pixels, one lane a splat, and
// blends only these.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/pixel.cuh"

namespace stipple {

namespace {

struct BlendInput {
  const ProjectedSplat* splats;
  const std::uint32_t *gaussian_from_slot, *slot_begin;
  int columns, first_row, width, height;
  float log2_alpha_max;
  Vec3f background;
};

struct BlendOutput {
  float *color, *transmittance, *depth, *checkpoint;
  std::uint32_t *slot_end, *chunk_count;
  Frame::Chunk* chunks;
};

struct PixelState {
  float front;          // transmittance in front of the next splat; 0 when finished
  float transmittance;  // the last that was not 0
  float channel[4];
};

// No branches: most splats that come here are drawn in some of the warp's pixels. Products are rounded by
// themselves, as in blend_backward.
template <bool kDepth>
__device__ void blend_pixel(const PatchSplat& s, float y, PixelState& pixel) {
  const float alpha = exp2_of(fminf(y, s.line.w));
  float weight = y >= M::min_exponent ? __fmul_rn(pixel.front, alpha) : 0.0f;
  const float after = __fsub_rn(pixel.front, weight);
  const bool goes_on =
      after >= M::min_transmittance;  // else it would take the pixel under the limit: it is finished
  pixel.front = goes_on ? after : 0.0f;
  pixel.transmittance = goes_on ? after : pixel.transmittance;
  weight = goes_on ? weight : 0.0f;
  pixel.channel[0] = fmaf(weight, s.curve_red.w, pixel.channel[0]);
  pixel.channel[1] = fmaf(weight, s.green_blue.x, pixel.channel[1]);
  pixel.channel[2] = fmaf(weight, s.green_blue.y, pixel.channel[2]);
  if (kDepth) pixel.channel[3] = fmaf(weight, s.depth, pixel.channel[3]);
}

struct LaneState {
  PixelState pixel[kLanePixels];

  __device__ bool is_finished() const { return are_finished(pixel); }
};

template <bool kDepth>
__device__ void store_checkpoint(const LaneState& state, const PixelPlace& place, float* to) {
#pragma unroll
  for (int i = 0; i < kLanePixels; ++i) {
    const PixelState& p = state.pixel[i];
    to[place.in_tile[i]] = p.front > 0 ? p.front : -p.transmittance;
    for (int k = 0; k < (kDepth ? 4 : 3); ++k) to[(1 + k) * kTilePixels + place.in_tile[i]] = p.channel[k];
  }
}

template <bool kDepth>
__device__ void store_pixels(const LaneState& state, const PixelPlace& place, const BlendInput& in,
                             const BlendOutput& out) {
  const std::size_t plane = static_cast<std::size_t>(in.width) * static_cast<unsigned>(in.height);
#pragma unroll
  for (int i = 0; i < kLanePixels; ++i) {
    if (!place.is_inside[i]) continue;
    const PixelState& p = state.pixel[i];
    out.transmittance[place.at[i]] = p.transmittance;
    for (int k = 0; k < 3; ++k)
      out.color[k * plane + place.at[i]] = fmaf(p.transmittance, in.background[k], p.channel[k]);
    if (kDepth) out.depth[place.at[i]] = p.channel[3];
  }
}

template <bool kDepth>
__global__ void __launch_bounds__(kTileThreads) blend_kernel(BlendInput in, BlendOutput out) {
  constexpr unsigned kBatch = kTileThreads;
  static_assert(kChunk % kBatch == 0, "chunks begin where batches do");
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
    const bool begins_chunk = batch > begin && (batch - begin) % kChunk == 0;
    if (begins_chunk && threadIdx.x == 0) {
      chunk = atomicAdd(out.chunk_count, 1u);
      out.chunks[chunk] = {tile, batch};
    }
    const unsigned count = min(end - batch, kBatch);
    if (threadIdx.x < count)
      staged[threadIdx.x] = stage(in.splats, in.gaussian_from_slot[batch + threadIdx.x], in.log2_alpha_max);
    __syncthreads();
    if (begins_chunk)
      store_checkpoint<kDepth>(
          state, place,
          out.checkpoint + static_cast<std::size_t>(chunk) * checkpoint_fields(kDepth) * kTilePixels);
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
          blend_pixel<kDepth>(s, exponent(s, terms, in_patch.y[i]), state.pixel[i]);
      }
      __syncwarp();
    }
  }
  if (threadIdx.x == 0) out.slot_end[tile] = min(batch, end);
  store_pixels<kDepth>(state, place, in, out);
}

}  // namespace

void CudaBackend::blend(const Projection& projection, const TileBins& bins, const View& view, Frame& out) {
  out.width_px = view.camera.width_px;
  out.height_px = view.camera.height_px;
  const std::size_t pixel_count = static_cast<std::size_t>(out.width_px) * out.height_px;
  const std::size_t tile_count = bins.slot_begin_from_tile.size() - 1;
  const bool with_depth = view.options.depth != DepthOutput::kNone;
  out.color.resize(*this, 3 * pixel_count);
  out.transmittance.resize(*this, pixel_count);
  out.depth.resize(*this, with_depth ? pixel_count : 0);
  out.slot_end_from_tile.resize(*this, tile_count);
  const std::size_t max_chunks = max_chunk_count(bins.gaussian_from_slot.size());
  out.chunks.resize(*this, max_chunks);
  out.chunk_count.resize_zero(*this, 1);
  out.checkpoint.resize(*this, max_chunks * checkpoint_fields(with_depth) * kTilePixels);
  if (pixel_count == 0 || tile_count == 0) return;
  const BlendInput in{pointer(projection.splat),
                      pointer(bins.gaussian_from_slot),
                      pointer(bins.slot_begin_from_tile),
                      bins.column_count,
                      bins.first_row,
                      out.width_px,
                      out.height_px,
                      std::log2(view.options.alpha_max),
                      view.options.background};
  const BlendOutput to{pointer(out.color),      pointer(out.transmittance),      pointer(out.depth),
                       pointer(out.checkpoint), pointer(out.slot_end_from_tile), pointer(out.chunk_count),
                       pointer(out.chunks)};
  const auto blocks = static_cast<unsigned>(tile_count);
  if (with_depth)
    blend_kernel<true><<<blocks, kTileThreads, 0, stream()>>>(in, to);
  else
    blend_kernel<false><<<blocks, kTileThreads, 0, stream()>>>(in, to);
  check(cudaGetLastError(), "start blend");
}

}  // namespace stipple
