// SPDX-License-Identifier: Apache-2.0
#pragma once
// What blend and blend_backward share: a tile is a block of 16 x 16 threads, a warp is 8 x 4 of its pixels.
//
// With log2(e) / 2 folded into the conic and log2(opacity) into the constant, alpha = 2^y where
//
//   y = log2 o + a dx^2 + b dx dy + c dy^2,      (a, b, c) = -log2(e) (Q.xx / 2, Q.xy, Q.yy / 2)
//
// and a splat is skipped where y < -log2(255): one compare, before any exponential. Both passes evaluate y and
// the exponential with the same operations, so that they see exactly the same contributions.
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/chunk.h"
#include "stipple/backend/cuda/kernel.cuh"

namespace stipple {

constexpr float kMinExponent = -7.9943534f;  // -log2(255)
constexpr int kPatchWidth = 8, kPatchHeight = 4;  // of a warp's pixels

struct PixelPlace {
  int x, y;
  bool is_inside;  // the picture
  unsigned at;     // in a plane

  __device__ PixelPlace(unsigned tile, int columns, int width, int height) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_index();
    x = static_cast<int>(tile) % columns * M::tile_size_px + warp % 2 * kPatchWidth + lane % kPatchWidth;
    y = static_cast<int>(tile) / columns * M::tile_size_px + warp / 2 * kPatchHeight + lane / kPatchWidth;
    is_inside = x < width && y < height;
    at = static_cast<unsigned>(y) * static_cast<unsigned>(width) + static_cast<unsigned>(x);
  }
};

// A splat as the inner loops want it; 48 bytes.
struct StagedSplat {
  float4 shape;   // mean x, mean y, a, b
  float4 limits;  // c, log2 opacity, largest exponent, gaussian (its bits)
  float4 color;   // red, green, blue, depth
};

__device__ inline StagedSplat stage(const ProjectedSplat* splats, unsigned gaussian, float log2_alpha_max) {
  constexpr float kLog2E = 1.44269504f;
  const auto* from = reinterpret_cast<const float4*>(splats + gaussian);
  const float4 p = from[0], q = from[1], r = from[2];
  const float log2_opacity = reinterpret_cast<const float*>(from + 3)[1];
  StagedSplat s;
  s.shape = make_float4(p.x, p.y, -0.5f * kLog2E * p.z, -kLog2E * p.w);
  s.limits = make_float4(-0.5f * kLog2E * q.x, log2_opacity, fminf(log2_opacity, log2_alpha_max), 0);
  s.color = make_float4(q.z, q.w, r.x, r.y);
  return s;
}

__device__ inline float exponent(const StagedSplat& s, float dx, float dy) {
  const float constant = fmaf(s.shape.z * dx, dx, s.limits.y);
  return fmaf(dy, fmaf(s.limits.x, dy, s.shape.w * dx), constant);
}

__device__ inline float exp2_of(float y) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(y));
  return result;
}

// The centres of a warp's pixels.
struct Patch {
  float left, top;
  static constexpr float kWidth = kPatchWidth - 1, kHeight = kPatchHeight - 1;

  // Whether the splat may be drawn in it: the largest exponent within it. That is at the mean, or on one of the
  // two edges that face it. There is some slack, so that rounding never loses a pixel.
  __device__ bool meets(const StagedSplat& s) const {
    const float a = s.shape.z, b = s.shape.w, c = s.limits.x;
    const float low_x = left - s.shape.x, high_x = low_x + kWidth, low_y = top - s.shape.y, high_y = low_y + kHeight;
    const float near_x = fminf(fmaxf(0, low_x), high_x), near_y = fminf(fmaxf(0, low_y), high_y);
    const float on_side = fminf(fmaxf(__fdividef(-0.5f * b * near_x, c), low_y), high_y);
    const float on_top = fminf(fmaxf(__fdividef(-0.5f * b * near_y, a), low_x), high_x);
    const float side = a * near_x * near_x + on_side * (b * near_x + c * on_side);
    const float above = c * near_y * near_y + on_top * (b * near_y + a * on_top);
    const float slack = 0.01f - 1e-5f * (a * near_x * near_x + c * near_y * near_y);
    return fmaxf(side, above) + s.limits.y + slack >= kMinExponent;
  }
};

}  // namespace stipple
