// SPDX-License-Identifier: Apache-2.0
#pragma once
// blend_backward's tables of splats by pixels, and the matrix products with them that are sums over pixels.
#include "stipple/backend/cuda/shared/pixel_patch.cuh"
#include "stipple/backend/cuda/shared/tensor_core.cuh"

namespace stipple::cuda {

constexpr int kGroup = 16;  // splats in a warp's tables

struct BackwardPixel {
  float front;   // transmittance in front of the next splat; 0 when finished
  float behind;  // S in blend_backward.cu
  float dL_dchannel[4];
  float dL_dalpha;
};

struct BackwardState {
  BackwardPixel pixel[kLanePixels];

  __device__ bool is_finished() const { return are_finished(pixel); }
};

// A warp's tables of splats by pixels, weight and q side by side. The row stride avoids bank conflicts
// between lanes.
struct Table {
  static constexpr int kStride = kPatch * kPatch + 4;
  float2 weight_q[kGroup * kStride];
  PatchSplat list[kWarp];
  // Positions in the batch of the listed splats, in order: of those in the tables, and of those to be added
  // next.
  static constexpr int kRemembered = 2 * kWarp;
  std::uint8_t splat[kRemembered];

  __device__ int splat_of_row(unsigned first, int row) const { return splat[(first + row) % kRemembered]; }
};

// The factors of the tables, in the layout of the tensor cores. For each line of the patch, eight pixels: the
// pixels' gradients, with the high and the low part of each channel in adjacent columns, and the monomials of
// their positions, 1, x, y, x^2, x y, y^2.
struct Factors {
  float gradient[kPatch][2], power[kPatch][2];

  // `scratch` holds four floats per pixel.
  __device__ Factors(const BackwardState& state, float* scratch) {
#pragma unroll
    for (int i = 0; i < kLanePixels; ++i)
      for (int k = 0; k < 4; ++k)
        scratch[4 * PixelPlace::pixel_of(lane_index(), i) + k] = state.pixel[i].dL_dchannel[k];
    __syncwarp();
    const int column = lane_index() / 4, row = lane_index() % 4;
#pragma unroll
    for (int line = 0; line < kPatch; ++line)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int in_line = row + 4 * half;
        const SplitFloat g = split(scratch[4 * (line * kPatch + in_line) + column / 2]);
        gradient[line][half] = column % 2 == 0 ? g.high : g.low;
        const float x = static_cast<float>(in_line) - 0.5f * (kPatch - 1);
        const float y = static_cast<float>(line) - 0.5f * (kPatch - 1);
        power[line][half] = column == 0   ? 1.0f
                            : column == 1 ? x
                            : column == 2 ? y
                            : column == 3 ? x * x
                            : column == 4 ? x * y
                            : column == 5 ? y * y
                                          : 0.0f;
      }
    __syncwarp();
  }
};

// Second phase: a lane's part of one splat's sums. A lane has parts of rows g and g + 8 of the tables, with g
// and t as in tensor_core.cuh.
struct RowSums {
  float channel;    // number t
  float moment[2];  // numbers 2 t and 2 t + 1, about the centre of the patch
};

__device__ inline void multiply_tables(const Table& table, const Factors& factors, RowSums (&sums)[2]) {
  const int g = lane_index() / 4, t = lane_index() % 4;
  float color[4] = {0, 0, 0, 0}, moment[4] = {0, 0, 0, 0};
#pragma unroll
  for (int line = 0; line < kPatch; ++line) {
    float weight_high[4], weight_low[4], q_high[4], q_low[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 v = table.weight_q[(g + i % 2 * 8) * Table::kStride + line * kPatch + t + i / 2 * 4];
      const SplitFloat w = split(v.x), q = split(v.y);
      weight_high[i] = w.high;
      weight_low[i] = w.low;
      q_high[i] = q.high;
      q_low[i] = q.low;
    }
    multiply_add(color, weight_high, factors.gradient[line]);
    multiply_add(color, weight_low, factors.gradient[line]);
    multiply_add(moment, q_high, factors.power[line]);
    multiply_add(moment, q_low, factors.power[line]);
  }
#pragma unroll
  for (int r = 0; r < 2; ++r) sums[r] = {color[2 * r] + color[2 * r + 1], {moment[2 * r], moment[2 * r + 1]}};
}

// Shifts the moments to the splat's mean, which lies at -(x, y) from the centre of the patch.
__device__ inline void move_to_mean(float x, float y, RowSums& sums) {
  const int first = lane_index() & ~3, t = lane_index() % 4;
  const float m0 = __shfl_sync(kAllLanes, sums.moment[0], first),
              mx = __shfl_sync(kAllLanes, sums.moment[1], first),
              my = __shfl_sync(kAllLanes, sums.moment[0], first + 1);
  if (t == 0) {  // 1, x
    sums.moment[1] = fmaf(x, m0, sums.moment[1]);
  } else if (t == 1) {  // y, x^2
    sums.moment[0] = fmaf(y, m0, sums.moment[0]);
    sums.moment[1] += x * fmaf(x, m0, 2 * mx);
  } else {  // x y, y^2
    sums.moment[0] += fmaf(x, my, y * fmaf(x, m0, mx));
    sums.moment[1] += y * fmaf(y, m0, 2 * my);
  }
}

// sum |q conic . (dx, dy)|: dL_dmean_px, but summed over the absolute values of the pixels' shares. Two lanes
// work on a splat, each on half of the pixels.
__device__ inline Vec2f sum_absolute(const Table& table, const StagedSplat& s, const Patch& patch) {
  constexpr int kHalf = kPatch * kPatch / 2;
  const int row = lane_index() % kGroup, half = lane_index() / kGroup;
  const Vec3f conic = M::unfold_conic(Vec3f(s.shape.z, s.shape.w, s.limits.x));
  Vec2f sum(0, 0);
  for (int k = 0; k < kHalf; ++k) {
    const int pixel = half * kHalf + k;
    const float q = table.weight_q[row * Table::kStride + pixel].y;
    const float dx = patch.x - s.shape.x + static_cast<float>(pixel % kPatch) - 0.5f * (kPatch - 1);
    const float dy = patch.y - s.shape.y + static_cast<float>(pixel / kPatch) - 0.5f * (kPatch - 1);
    sum = sum + Vec2f(fabsf(q * (conic.x * dx + conic.y * dy)), fabsf(q * (conic.y * dx + conic.z * dy)));
  }
  return {sum.x + __shfl_xor_sync(kAllLanes, sum.x, kGroup),
          sum.y + __shfl_xor_sync(kAllLanes, sum.y, kGroup)};
}

}  // namespace stipple::cuda
