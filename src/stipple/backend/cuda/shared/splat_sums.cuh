// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sums that blend_backward accumulates for a splat, and the gradient computed from them.
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

// Three groups of four, each held by one lane: a colour channel, two of the six moments, and one more sum.
enum Field {
  kRed,
  kM0,
  kMx,
  kFourthSum,
  kGreen,
  kMy,
  kMxx,
  kAbsoluteX,
  kBlue,
  kMxy,
  kMyy,
  kAbsoluteY,
  kFields
};

// Which gradients there are and which are wanted, and whether they are summed in a fixed order.
template <bool kWithFourth, bool kWithAbsolute, bool kInFixedOrder, bool kOfGivenChannels = false>
struct GradientKind {
  static constexpr bool kFourth = kWithFourth, kAbsolute = kWithAbsolute, kFixedOrder = kInFixedOrder,
                        kGiven = kOfGivenChannels;
  // The field of a pair's sums that identifies the pass that wrote them.
  static constexpr int kStamp = kAbsolute ? kFields + 0 : kAbsoluteY + 0;
  static constexpr int kStride = kFixedOrder && kAbsolute ? kFields + 4 : kFields + 0;
};

template <class K>
struct SplatSums {
  float field[kFields] = {};
};

// The sums of splat i.
template <class K>
__device__ SplatSums<K> load_sums(const float* sums, unsigned i) {
  SplatSums<K> sum;
  const auto* at = reinterpret_cast<const float4*>(sums + static_cast<std::size_t>(i) * K::kStride);
#pragma unroll
  for (int k = 0; k < kFields / 4; ++k) {
    const float4 part = at[k];
    sum.field[4 * k] = part.x;
    sum.field[4 * k + 1] = part.y;
    sum.field[4 * k + 2] = part.z;
    sum.field[4 * k + 3] = part.w;
  }
  return sum;
}

// The next pass expects zeros.
template <class K>
__device__ void clear_sums(float* sums, unsigned i) {
  auto* at = reinterpret_cast<float4*>(sums + static_cast<std::size_t>(i) * K::kStride);
#pragma unroll
  for (int k = 0; k < kFields / 4; ++k) at[k] = make_float4(0, 0, 0, 0);
}

template <class K>
__device__ Splat splat_gradient(const ProjectedSplat* splats, unsigned i, const SplatSums<K>& sum) {
  const auto* from = reinterpret_cast<const float4*>(splats + i);
  const float4 head = from[0], next = from[1];
  const float* f = sum.field;
  M::SplatMoments m;
  m.q = f[kM0];
  m.qd = Vec2f(f[kMx], f[kMy]);
  m.qdd = Vec3f(f[kMxx], f[kMxy], f[kMyy]);
  m.channels = Vec4f(f[kRed], f[kGreen], f[kBlue], K::kFourth ? f[kFourthSum] : 0.0f);
  return M::splat_gradient(Vec3f(head.z, head.w, next.x), next.y, m);
}

}  // namespace stipple::cuda
