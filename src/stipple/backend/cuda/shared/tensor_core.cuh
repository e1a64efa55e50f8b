// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of small matrices on the tensor cores: c += a b, with a 16 x 8, b 8 x 8 and c 16 x 8, distributed
// over a warp. With g = lane / 4 and t = lane % 4, a lane holds
//
//   a  (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)        b  (t, g), (t + 4, g)
//   c  (g, 2 t), (g, 2 t + 1), (g + 8, 2 t), (g + 8, 2 t + 1)
//
// Factors have 11 significant bits (TF32). A float is split into a sum of two such numbers; multiplying both
// parts makes products nearly exact.
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

struct SplitFloat {
  float high, low;
};

__device__ inline SplitFloat split(float value) {
  const float high = __uint_as_float(__float_as_uint(value) & 0xffffe000u);
  return {high, value - high};
}

#if __CUDA_ARCH__ < 800
// A slow fallback for GPUs without TF32. Not inlined: there are many calls, and compiling them takes minutes.
__device__ __noinline__ static float multiply_add(float c, float a0, float a1, float b0, float b1, int row,
                                                  int column) {
  for (int k = 0; k < 8; ++k)
    c += __shfl_sync(kAllLanes, k < 4 ? a0 : a1, 4 * row + k % 4) *
         __shfl_sync(kAllLanes, k < 4 ? b0 : b1, 4 * column + k % 4);
  return c;
}
#endif

__device__ inline void multiply_add(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
      "%1, "
      "%2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else
  const int g = lane_index() / 4, t = lane_index() % 4;
  for (int i = 0; i < 4; ++i)  // the same lanes hold rows g and g + 8 of a
    c[i] = multiply_add(c[i], a[i / 2], a[2 + i / 2], b[0], b[1], g, 2 * t + i % 2);
#endif
}

}  // namespace stipple::cuda
