// SPDX-License-Identifier: Apache-2.0
#pragma once
// From blend_backward's sums, per splat or per pair of splat and tile, to the splats' gradients.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/splat_sums.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"

namespace stipple::cuda {

// Adds up the sums of pairs begin, begin + step, ..., where they have the stamp of this pass.
template <class K>
__device__ SplatSums<K> sum_partials(const float* partial, std::uint32_t stamp, unsigned begin, unsigned end,
                                     unsigned step) {
  SplatSums<K> sum;
  for (unsigned pair = begin; pair < end; pair += step) {
    const auto* from = reinterpret_cast<const float4*>(partial + static_cast<std::size_t>(pair) * K::kStride);
    float4 part[K::kStride / 4];
#pragma unroll
    for (int i = 0; i < K::kStride / 4; ++i) part[i] = from[i];
    const auto* value = reinterpret_cast<const float*>(part);
    if (__float_as_uint(value[K::kStamp]) != stamp) continue;
#pragma unroll
    for (int i = 0; i < kFields; ++i) sum.field[i] += value[i];
  }
  return sum;
}

constexpr int kSumThreads = 128;
constexpr unsigned kRunAlone = 16;  // pairs that a lane adds up by itself

// Adds up each lane's run of pairs; long runs are shared by the whole warp.
template <class K>
__device__ SplatSums<K> sum_run(const float* partial, std::uint32_t stamp, PairRange run) {
  const bool is_long = run.end - run.begin > kRunAlone;
  SplatSums<K> sum;
  if (!is_long) sum = sum_partials<K>(partial, stamp, run.begin, run.end, 1);
  for (unsigned longs = __ballot_sync(kAllLanes, is_long); longs; longs &= longs - 1) {
    const int owner = __ffs(static_cast<int>(longs)) - 1;
    const unsigned begin = __shfl_sync(kAllLanes, run.begin, owner),
                   end = __shfl_sync(kAllLanes, run.end, owner);
    const SplatSums<K> part = sum_partials<K>(partial, stamp, begin + lane_index(), end, kWarp);
    for (int f = 0; f < kFields; ++f) {
      const float total = sum_over_warp(part.field[f]);
      if (lane_index() == owner) sum.field[f] = total;
    }
  }
  return sum;
}

__device__ inline bool is_finite(const Splat& s) {  // the sum is 0 unless a value is not finite
  const float a =
      fmaf(s.mean_px.x, 0, fmaf(s.mean_px.y, 0, fmaf(s.conic.x, 0, fmaf(s.conic.y, 0, s.conic.z * 0))));
  const float b = fmaf(s.channels.x, 0, fmaf(s.channels.y, 0, fmaf(s.channels.z, 0, s.channels.w * 0)));
  return fmaf(s.opacity, 0, a + b) == 0;
}

// Stores 40 bytes, 8 at a time.
__device__ inline void store_splat(const Splat& s, Splat* to, unsigned i) {
  auto* out = reinterpret_cast<float2*>(to + i);
  out[0] = make_float2(s.mean_px.x, s.mean_px.y);
  out[1] = make_float2(s.conic.x, s.conic.y);
  out[2] = make_float2(s.conic.z, s.opacity);
  out[3] = make_float2(s.channels.x, s.channels.y);
  out[4] = make_float2(s.channels.z, s.channels.w);
}

template <class K>
__global__ void __launch_bounds__(kSumThreads)
    sum_kernel(const ProjectedSplat* splats, const PairRange* pairs_from_splat, unsigned capacity,
               float* sums, std::uint32_t stamp, Splat* dL_dsplat, Vec2f* absolute, ViewStatus* status) {
  const unsigned i = blockIdx.x * kSumThreads + threadIdx.x;
  const bool is_written = i < written_rows(status, capacity);
  const bool is_seen = is_written && splats[i].splat.opacity > 0;
  SplatSums<K> sum;
  if constexpr (K::kFixedOrder)
    sum = sum_run<K>(sums, stamp, is_seen && !status->has_overflowed ? pairs_from_splat[i] : PairRange{0, 0});
  else if (is_seen) {
    sum = load_sums<K>(sums, i);
    clear_sums<K>(sums, i);
  }
  if (!is_written) return;
  Splat g{{0, 0}, {0, 0, 0}, 0, {0, 0, 0, 0}};
  if (is_seen) g = splat_gradient(splats, i, sum);
  if (!is_finite(g)) status->is_bad = 1;
  store_splat(g, dL_dsplat, i);
  if constexpr (K::kAbsolute) absolute[i] = Vec2f(sum.field[kAbsoluteX], sum.field[kAbsoluteY]);
}

}  // namespace stipple::cuda
