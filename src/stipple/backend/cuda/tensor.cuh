// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of small matrices by the tensor cores: c += a b, with a 16 x 8, b 8 x 8 and c 16 x 8, spread over
// a warp. With g = lane / 4 and t = lane % 4 a lane has
//
//   a  (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)        b  (t, g), (t + 4, g)
//   c  (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1)
//
// Factors have 11 bits there. A float is the sum of two such: products of both parts are nearly exact.
#include "stipple/backend/cuda/kernel.cuh"

namespace stipple {

struct SplitFloat {
  float high, low;
};

__device__ inline SplitFloat split(float value) {
  const float high = __uint_as_float(__float_as_uint(value) & 0xffffe000u);
  return {high, value - high};
}

__device__ inline void multiply_add(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
      "%1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else  // without such cores, and slowly
  const int g = lane_index() / 4, t = lane_index() % 4;
  for (int k = 0; k < 8; ++k)
    for (int row = 0; row < 2; ++row)
      for (int column = 0; column < 2; ++column) {
        const float from_a = k < 4 ? a[row] : a[2 + row], from_b = k < 4 ? b[0] : b[1];
        c[2 * row + column] += __shfl_sync(kAllLanes, from_a, 4 * g + k % 4) *
                               __shfl_sync(kAllLanes, from_b, 4 * (2 * t + column) + k % 4);
      }
#endif
}

}  // namespace stipple
