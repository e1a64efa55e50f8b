// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sums of several fields over a warp's lanes at once. Each step folds the fields in half: a lane keeps one half
// and gives the other to its partner, so that in the end every field is summed in some lane, for little more
// than the price of one.
#include "stipple/backend/cuda/kernel.cuh"

namespace stipple {

// Which field's sum a lane ends up with; -1 for none.
__device__ inline int field_of_lane(int lane, int field_count) {
  int first = 0, held = field_count, folded = field_count;
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    if (folded == 1) {  // partners have the same from here on
      if (lane & offset) return -1;
      continue;
    }
    const int half = (folded + 1) / 2;
    if (lane & offset) {
      first += half;
      held -= half;
    } else {
      held = min(held, half);
    }
    folded = half;
  }
  return held > 0 ? first : -1;
}

template <int kOffset, int kFields>
__device__ float sum_fields(float (&field)[kFields]) {
  if constexpr (kOffset == 0) {
    return field[0];
  } else if constexpr (kFields == 1) {
    field[0] += __shfl_xor_sync(kAllLanes, field[0], kOffset);
    return sum_fields<kOffset / 2>(field);
  } else {
    constexpr int kHalf = (kFields + 1) / 2;
    const bool is_upper = lane_index() & kOffset;
    float folded[kHalf];
#pragma unroll
    for (int i = 0; i < kHalf; ++i) {
      const float low = field[i], high = i + kHalf < kFields ? field[i + kHalf] : 0.0f;
      folded[i] = (is_upper ? high : low) + __shfl_xor_sync(kAllLanes, is_upper ? low : high, kOffset);
    }
    return sum_fields<kOffset / 2>(folded);
  }
}

// The lane's own field's sum, see field_of_lane().
template <int kFields>
__device__ float sum_fields_over_warp(float (&field)[kFields]) {
  return sum_fields<kWarp / 2>(field);
}

}  // namespace stipple
