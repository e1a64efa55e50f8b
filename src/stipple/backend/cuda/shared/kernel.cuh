// SPDX-License-Identifier: Apache-2.0
#pragma once
// Helpers for the kernels of all stages.
#include <cstdint>

#include "stipple/backend/cuda/runtime/device_memory.h"
#include "stipple/math/math.h"

namespace stipple::cuda {

using M = Math<float>;

constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kWarp = 32;

__device__ inline int lane_index() { return static_cast<int>(threadIdx.x) % kWarp; }

inline unsigned blocks_for(std::size_t items, int threads) {
  return static_cast<unsigned>((items + static_cast<std::size_t>(threads) - 1) /
                               static_cast<std::size_t>(threads));
}

template <class T>
__device__ inline T sum_over_warp(T value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

// Sums over a block of kThreads, always in the same order; all threads get the result.
template <int kThreads>
__device__ inline double sum_over_block(double value) {
  __shared__ double warp_sum[kThreads / kWarp];
  value = sum_over_warp(value);
  __syncthreads();  // until the previous call's sums have been read
  if (lane_index() == 0) warp_sum[threadIdx.x / kWarp] = value;
  __syncthreads();
  double sum = 0;
  for (double w : warp_sum) sum += w;
  return sum;
}

}  // namespace stipple::cuda
