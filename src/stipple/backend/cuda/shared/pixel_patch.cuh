// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by blend and blend_backward. A thread block of four warps draws a tile. Each warp has a patch of
// 8 x 8 pixels, and each lane two of those, in one column: what a lane reads of a splat serves both, and
// these reads dominate.
//
// Alpha is evaluated in the folded form of math/blending.glsl, 2^y; here y is a polynomial in the pixel's
// position in the patch. Both stages evaluate y and the exponential with the same operations, so that they
// see exactly the same contributions.
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/shared/chunk.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

constexpr int kPatch = 8;  // side in pixels
constexpr int kTileThreads = 128, kTileWarps = 4;
constexpr int kLanePixels = 2;

// A thread's pixels.
struct PixelPlace {
  int x, y[kLanePixels];
  bool is_inside[kLanePixels];  // the image
  unsigned at[kLanePixels];     // index in a plane
  int in_tile[kLanePixels];     // index in a checkpoint's field

  __device__ PixelPlace(unsigned tile, int columns, int first_row, int width, int height) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_index();
    x = static_cast<int>(tile) % columns * M::tile_size_px + warp % 2 * kPatch + lane % kPatch;
#pragma unroll
    for (int i = 0; i < kLanePixels; ++i) {
      y[i] = (first_row + static_cast<int>(tile) / columns) * M::tile_size_px + warp / 2 * kPatch +
             pixel_of(lane, i) / kPatch;
      is_inside[i] = x < width && y[i] < height;
      at[i] = static_cast<unsigned>(y[i]) * static_cast<unsigned>(width) + static_cast<unsigned>(x);
      in_tile[i] = warp * kPatch * kPatch + pixel_of(lane, i);
    }
  }

  static __device__ int pixel_of(int lane, int i) { return i * kWarp + lane; }  // in the patch, row by row
};

// Whether all of a lane's pixels are finished.
template <class Pixel>
__device__ bool are_finished(const Pixel (&pixel)[kLanePixels]) {
  float live = 0;
#pragma unroll
  for (const Pixel& p : pixel) live += p.front;
  return live == 0;
}

// A splat in the shared memory of a tile's block; 48 bytes.
struct StagedSplat {
  float4 shape;   // mean x, mean y, a, b
  float4 limits;  // c, log2 opacity, largest exponent, unused
  float4 color;   // red, green, blue, depth
};

// With kGiven, `channels` replaces the splat's own.
template <bool kGiven>
__device__ StagedSplat stage(const ProjectedSplat* splats, const float4* channels, unsigned row,
                             float log2_alpha_max) {
  const auto* from = reinterpret_cast<const float4*>(splats + row);
  const float4 p = from[0], q = from[1], r = from[2];
  const float log2_opacity = reinterpret_cast<const float*>(from + 3)[1];
  const M::FoldedSplat f = M::fold(Vec2f(p.x, p.y), Vec3f(p.z, p.w, q.x), log2_opacity, log2_alpha_max);
  StagedSplat s;
  s.shape = make_float4(f.mean_px.x, f.mean_px.y, f.curve.x, f.curve.y);
  s.limits = make_float4(f.curve.z, f.log2_opacity, f.max_exponent, 0);
  s.color = kGiven ? channels[row] : make_float4(q.z, q.w, r.x, r.y);
  return s;
}

// A splat as one warp sees it: the exponent as a polynomial in the position (x, y) relative to the centre of
// the warp's patch. 48 bytes, of which 40 are read for every pixel.
struct PatchSplat {
  float4 line;       // exponent = line.x + line.y x + line.z y + ...; .w is the largest exponent
  float4 curve_red;  // ... + curve_red.x x^2 + curve_red.y x y + curve_red.z y^2; .w is red
  float2 green_blue;
  float depth;
  float unused;
};

struct PatchPixels {  // positions of a lane's pixels, relative to the centre of the patch
  float x, xx, y[kLanePixels];

  __device__ PatchPixels() {
    constexpr float kMiddle = 0.5f * (kPatch - 1);
    x = static_cast<float>(lane_index() % kPatch) - kMiddle;
    xx = x * x;
#pragma unroll
    for (int i = 0; i < kLanePixels; ++i)
      y[i] = static_cast<float>(PixelPlace::pixel_of(lane_index(), i) / kPatch) - kMiddle;
  }
};

// The terms of the exponent that are the same for all of a lane's pixels.
struct ColumnTerms {
  float constant, slope;

  __device__ ColumnTerms(const PatchSplat& s, const PatchPixels& p)
      : constant(fmaf(s.curve_red.x, p.xx, fmaf(s.line.y, p.x, s.line.x))),
        slope(fmaf(s.curve_red.y, p.x, s.line.z)) {}
};

__device__ inline float exponent(const PatchSplat& s, const ColumnTerms& t, float y) {
  return fmaf(y, fmaf(s.curve_red.z, y, t.slope), t.constant);
}

__device__ inline float exp2_of(float y) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(y));
  return result;
}

// A warp's patch of pixels, given by its centre.
struct Patch {
  float x, y;

  __device__ explicit Patch(const PixelPlace& place) {
    x = __shfl_sync(kAllLanes, static_cast<float>(place.x), 0) + 0.5f * kPatch;
    y = __shfl_sync(kAllLanes, static_cast<float>(place.y[0]), 0) + 0.5f * kPatch;
  }

  // Whether the splat may be drawn in the patch. The exponent is largest at the mean, if that is inside, or
  // on one of the two edges that face it. Some slack ensures that rounding never loses a pixel.
  __device__ bool meets(const StagedSplat& s) const {
    constexpr float kHalf = 0.5f * (kPatch - 1);
    const float a = s.shape.z, b = s.shape.w, c = s.limits.x, dx = x - s.shape.x, dy = y - s.shape.y;
    const float low_x = dx - kHalf, high_x = dx + kHalf, low_y = dy - kHalf, high_y = dy + kHalf;
    const float near_x = fminf(fmaxf(0, low_x), high_x), near_y = fminf(fmaxf(0, low_y), high_y);
    const float on_side = fminf(fmaxf(__fdividef(-0.5f * b * near_x, c), low_y), high_y);
    const float on_top = fminf(fmaxf(__fdividef(-0.5f * b * near_y, a), low_x), high_x);
    const float side = a * near_x * near_x + on_side * (b * near_x + c * on_side);
    const float above = c * near_y * near_y + on_top * (b * near_y + a * on_top);
    const float slack = 0.01f - 1e-5f * (a * near_x * near_x + c * near_y * near_y);
    return fmaxf(side, above) + s.limits.y + slack >= M::min_exponent;
  }

  // Explicitly rounded operations, so that both stages get the same bits.
  __device__ PatchSplat see(const StagedSplat& s) const {
    const float a = s.shape.z, b = s.shape.w, c = s.limits.x;
    const float dx = __fsub_rn(x, s.shape.x), dy = __fsub_rn(y, s.shape.y);
    const float a_dx = __fmul_rn(a, dx), b_dx = __fmul_rn(b, dx), c_dy = __fmul_rn(c, dy);
    PatchSplat p;
    p.line.x = fmaf(dy, __fadd_rn(c_dy, b_dx), fmaf(a_dx, dx, s.limits.y));
    p.line.y = fmaf(b, dy, __fmul_rn(2, a_dx));
    p.line.z = fmaf(2, c_dy, b_dx);
    p.line.w = s.limits.z;
    p.curve_red = make_float4(a, b, c, s.color.x);
    p.green_blue = make_float2(s.color.y, s.color.z);
    p.depth = s.color.w;
    return p;
  }
};

// Of up to 32 staged splats, writes those that reach the patch to `list`, and returns them as a bit mask.
// Lane k tests splat k, and gets its position in the list, or -1, as `place`.
__device__ inline unsigned list_reaching(const StagedSplat* staged, unsigned count, const Patch& patch,
                                         PatchSplat* list, int& place) {
  const unsigned lane = static_cast<unsigned>(lane_index());
  const StagedSplat& s = staged[min(lane, count - 1)];
  const bool reaches = lane < count && patch.meets(s);
  const unsigned reaching = __ballot_sync(kAllLanes, reaches);
  place = reaches ? __popc(reaching & ((1u << lane) - 1)) : -1;
  if (reaches) list[place] = patch.see(s);
  __syncwarp();
  return reaching;
}

__device__ inline float reciprocal(float x) {
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

}  // namespace stipple::cuda
