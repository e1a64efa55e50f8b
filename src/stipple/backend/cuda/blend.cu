// SPDX-License-Identifier: Apache-2.0
// blend: the splats of each tile, nearest first, into its pixels. A block is a tile, a thread a pixel. Splats
// are brought into shared memory a batch at a time; of every 32, a warp first lists those that reach its own
// pixels, one lane a splat, and blends only these.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/pixel.cuh"

namespace stipple {

namespace {

struct BlendInput {
  const ProjectedSplat* splats;
  const std::uint32_t *gaussian_from_slot, *slot_begin, *chunk_begin;
  int columns, width, height;
  float log2_alpha_max;
  Vec3f background;
};

struct BlendOutput {
  float *color, *transmittance, *depth, *checkpoint;
  std::uint32_t* slot_end;
};

struct PixelState {
  float front;          // transmittance in front of the next splat; 0 when finished
  float transmittance;  // the last that was not 0
  float channel[4];
};

// No branches: most splats that come here are drawn in some of the warp's pixels. Products are rounded by themselves,
// as in blend_backward.
template <bool kDepth>
__device__ void blend_splat(const PatchSplat& s, const PatchPixel& place, PixelState& pixel) {
  const float y = exponent(s, place);
  const float alpha = exp2_of(fminf(y, s.line.w));
  float weight = y >= kMinExponent ? __fmul_rn(pixel.front, alpha) : 0.0f;
  const float after = __fsub_rn(pixel.front, weight);
  const bool goes_on = after >= M::min_transmittance;  // else it would take the pixel under the limit: it is finished
  pixel.front = goes_on ? after : 0.0f;
  pixel.transmittance = goes_on ? after : pixel.transmittance;
  weight = goes_on ? weight : 0.0f;
  pixel.channel[0] = fmaf(weight, s.color.x, pixel.channel[0]);
  pixel.channel[1] = fmaf(weight, s.color.y, pixel.channel[1]);
  pixel.channel[2] = fmaf(weight, s.color.z, pixel.channel[2]);
  if (kDepth) pixel.channel[3] = fmaf(weight, s.color.w, pixel.channel[3]);
}

template <bool kDepth>
__device__ void store_checkpoint(const PixelState& pixel, float* to) {
  to[threadIdx.x] = pixel.front > 0 ? pixel.front : -pixel.transmittance;
  for (int k = 0; k < (kDepth ? 4 : 3); ++k) to[(1 + k) * kTilePixels + threadIdx.x] = pixel.channel[k];
}

template <bool kDepth>
__global__ void __launch_bounds__(kTilePixels) blend_kernel(BlendInput in, BlendOutput out) {
  __shared__ StagedSplat staged[kTilePixels];
  __shared__ PatchSplat lists[kTileWarps][kWarp];
  static_assert(kChunk % kTilePixels == 0, "chunks begin where batches do");
  const unsigned tile = blockIdx.x;
  const PixelPlace place(tile, in.columns, in.width, in.height);
  const Patch patch(place);
  const PatchPixel in_patch;
  PatchSplat* list = lists[threadIdx.x / kWarp];
  PixelState pixel{place.is_inside ? 1.0f : 0.0f, 1, {0, 0, 0, 0}};
  const unsigned begin = in.slot_begin[tile], end = in.slot_begin[tile + 1], first_chunk = in.chunk_begin[tile];
  unsigned batch = begin;
  for (; batch < end; batch += kTilePixels) {
    if (__syncthreads_and(pixel.front == 0)) break;
    if (batch > begin && (batch - begin) % kChunk == 0) {
      const std::size_t chunk = first_chunk + (batch - begin) / kChunk - 1;
      store_checkpoint<kDepth>(pixel, out.checkpoint + chunk * (kDepth ? 5 : 4) * kTilePixels);
    }
    const unsigned count = min(end - batch, static_cast<unsigned>(kTilePixels));
    if (threadIdx.x < count)
      staged[threadIdx.x] = stage(in.splats, in.gaussian_from_slot[batch + threadIdx.x], in.log2_alpha_max);
    __syncthreads();
    for (unsigned group = 0; group < count; group += kWarp) {
      if (__all_sync(kAllLanes, pixel.front == 0)) break;
      const int reaching = list_reaching(staged + group, count - group, patch, list);
#pragma unroll 4
      for (int k = 0; k < reaching; ++k) blend_splat<kDepth>(list[k], in_patch, pixel);
      __syncwarp();
    }
  }
  if (threadIdx.x == 0) out.slot_end[tile] = min(batch, end);
  if (!place.is_inside) return;
  const unsigned plane = static_cast<unsigned>(in.width) * static_cast<unsigned>(in.height);
  out.transmittance[place.at] = pixel.transmittance;
  for (int k = 0; k < 3; ++k)
    out.color[static_cast<std::size_t>(k) * plane + place.at] =
        fmaf(pixel.transmittance, in.background[k], pixel.channel[k]);
  if (kDepth) out.depth[place.at] = pixel.channel[3];
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
  out.checkpoint.resize(*this, max_chunk_count(bins.gaussian_from_slot.size()) * checkpoint_fields(with_depth) * kTilePixels);
  if (pixel_count == 0) return;
  const BlendInput in{pointer(projection.splat),
                      pointer(bins.gaussian_from_slot),
                      pointer(bins.slot_begin_from_tile),
                      pointer(bins.chunk_begin_from_tile),
                      bins.column_count,
                      out.width_px,
                      out.height_px,
                      std::log2(view.options.alpha_max),
                      view.options.background};
  const BlendOutput to{pointer(out.color), pointer(out.transmittance), pointer(out.depth), pointer(out.checkpoint),
                       pointer(out.slot_end_from_tile)};
  const auto blocks = static_cast<unsigned>(tile_count);
  if (with_depth)
    blend_kernel<true><<<blocks, kTilePixels, 0, stream()>>>(in, to);
  else
    blend_kernel<false><<<blocks, kTilePixels, 0, stream()>>>(in, to);
  check(cudaGetLastError(), "start blend");
}

}  // namespace stipple
