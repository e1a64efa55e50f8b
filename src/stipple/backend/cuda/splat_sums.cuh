// SPDX-License-Identifier: Apache-2.0
#pragma once
// What blend_backward adds up for a splat, and the gradient that follows from it.
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/kernel.cuh"

namespace stipple {

enum Field { kRed, kGreen, kBlue, kM0, kMx, kMy, kMxx, kMxy, kMyy, kPlainFields };

// Which gradients there are, and which are wanted.
template <bool kWithDepth, bool kWithAlpha, bool kWithAbsolute, bool kInFixedOrder>
struct GradientKind {
  static constexpr bool kDepth = kWithDepth, kAlpha = kWithAlpha, kAbsolute = kWithAbsolute, kFixedOrder = kInFixedOrder;
  static constexpr int kBatch = kFixedOrder ? 64 : 128;  // splats between two meetings of the block
  static constexpr int kDepthField = kPlainFields;
  static constexpr int kAbsoluteField = kPlainFields + kDepth;  // and the next
  static constexpr int kFields = kPlainFields + kDepth + 2 * kAbsolute;
  static constexpr int kStamp = kFields;  // in a pair's sums: says that they are this pass's
  static constexpr int kStride = (kFields + kFixedOrder + 3) / 4 * 4;
};

template <class K>
struct SplatSums {
  float field[K::kFields] = {};
};

// Every Gaussian's own sums, which are zero again afterwards.
template <class K>
__device__ SplatSums<K> take_sums(float* sums, unsigned i) {
  SplatSums<K> sum;
  auto* at = reinterpret_cast<float4*>(sums + static_cast<std::size_t>(i) * K::kStride);
  float4 part[K::kStride / 4];
#pragma unroll
  for (int k = 0; k < K::kStride / 4; ++k) {
    part[k] = at[k];
    at[k] = make_float4(0, 0, 0, 0);
  }
#pragma unroll
  for (int f = 0; f < K::kFields; ++f) sum.field[f] = reinterpret_cast<const float*>(part)[f];
  return sum;
}

// The conic multiplied in.
template <class K>
__device__ Splat splat_gradient(const Splat& s, const SplatSums<K>& sum) {
  const float* f = sum.field;
  Splat g;
  // dx here is pixel - mean, the opposite of d in math/blending.glsl.
  g.mean_px = Vec2f(s.conic.x * f[kMx] + s.conic.y * f[kMy], s.conic.y * f[kMx] + s.conic.z * f[kMy]);
  g.conic = Vec3f(-0.5f * f[kMxx], -f[kMxy], -0.5f * f[kMyy]);
  g.opacity = f[kM0] / s.opacity;
  g.channels = Vec4f(f[kRed], f[kGreen], f[kBlue], K::kDepth ? f[K::kDepthField] : 0.0f);
  return g;
}

}  // namespace stipple
