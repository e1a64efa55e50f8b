// SPDX-License-Identifier: Apache-2.0
// loss: L1 + SSIM of the picture against an 8-bit target, and its gradient, in one sweep down the picture.
//
// A block is a strip of columns of one channel, a thread a column, and walks down a band of rows. A row enters at
// the bottom and is filtered across; the last 11 such rows, kept in registers and filtered down, give the window's
// means at the row 5 above, hence SSIM and its derivatives there (the formulas of math/similarity.glsl); these are
// filtered across, and the last 11 of those, filtered down, are the gradient at the row 10 above. The window is
// symmetric, so the same filter serves forward and backward. Outside the picture everything is zero.
//
// A pixel's weight w replaces the picture's value x there by y + w (x - y), y being the target: at weight 0 it is
// taken as already right.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/kernel.cuh"

namespace stipple {

namespace {

constexpr int kRadius = M::ssim_window_radius_px;
constexpr int kTaps = 2 * kRadius + 1;
constexpr int kThreads = 128;
constexpr int kColumns = kThreads - 4 * kRadius;  // of a strip that get their gradient from it
constexpr int kBandRows = 64;

struct Window {
  float weight[kRadius + 1];  // by distance
};

struct LossInput {
  const float* color;
  const std::uint8_t* target;  // interleaved
  const float* weight;         // or null
  int width, height;
  float ssim_weight;
  Window window;
};

struct LossSums {
  double l1, squares, ssim;
};

struct LossOutput {
  float* dL_dcolor;
  LossSums* block_sums;
  unsigned* blocks_done;
  StepStatus* status;
};

struct PixelPair {
  float x, y;  // the picture and its target
};

// One channel of a pixel; zeros outside.
__device__ PixelPair load_pair(const LossInput& in, int channel, int column, int row) {
  if (column < 0 || column >= in.width || row < 0 || row >= in.height) return {0, 0};
  const std::size_t at = static_cast<std::size_t>(row) * in.width + column;
  const std::size_t plane = static_cast<std::size_t>(in.width) * in.height;
  const float y = static_cast<float>(in.target[3 * at + channel]) * (1.0f / 255);
  const float x = in.color[channel * plane + at];
  return {in.weight ? y + in.weight[at] * (x - y) : x, y};
}

struct FilteredRow {  // across, at one column
  float x, y, squares, xy;  // SSIM needs x^2 and y^2 only as a sum
};

__device__ FilteredRow filter_across(const float2* at, const Window& window) {
  const float2 c = *at;
  FilteredRow sum{c.x * window.weight[0], c.y * window.weight[0], (c.x * c.x + c.y * c.y) * window.weight[0],
                  c.x * c.y * window.weight[0]};
#pragma unroll
  for (int i = 1; i <= kRadius; ++i) {
    const float2 a = at[-i], b = at[i];
    const float w = window.weight[i];
    sum.x = fmaf(w, a.x + b.x, sum.x);
    sum.y = fmaf(w, a.y + b.y, sum.y);
    sum.squares = fmaf(w, fmaf(a.x, a.x, fmaf(a.y, a.y, fmaf(b.x, b.x, b.y * b.y))), sum.squares);
    sum.xy = fmaf(w, fmaf(a.x, a.y, b.x * b.y), sum.xy);
  }
  return sum;
}

__device__ float filter_across(const float* at, const Window& window) {
  float sum = *at * window.weight[0];
#pragma unroll
  for (int i = 1; i <= kRadius; ++i) sum = fmaf(window.weight[i], at[-i] + at[i], sum);
  return sum;
}

// ring[newest] is the last row, the one after it, modulo the taps, the first.
__device__ float filter_down(const float (&ring)[kTaps], int newest, const Window& window) {
  float sum = ring[(newest + 1 + kRadius) % kTaps] * window.weight[0];
#pragma unroll
  for (int i = 1; i <= kRadius; ++i)
    sum = fmaf(window.weight[i], ring[(newest + 1 + kRadius - i) % kTaps] + ring[(newest + 1 + kRadius + i) % kTaps],
               sum);
  return sum;
}

__device__ double sum_over_block(double value, double* shared) {
  value = sum_over_warp(value);
  __syncthreads();
  if (lane_index() == 0) shared[threadIdx.x / kWarp] = value;
  __syncthreads();
  double sum = 0;
  for (int w = 0; w < kThreads / kWarp; ++w) sum += shared[w];
  return sum;
}

// The last block to finish adds up what all have found, in a fixed order.
__device__ void finish(const LossSums& mine, const LossInput& in, const LossOutput& out) {
  __shared__ double shared[kThreads / kWarp];
  __shared__ bool is_last;
  const unsigned block_count = gridDim.x * gridDim.y * gridDim.z;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const LossSums sums{sum_over_block(mine.l1, shared), sum_over_block(mine.squares, shared),
                      sum_over_block(mine.ssim, shared)};
  if (threadIdx.x == 0) {
    out.block_sums[block] = sums;
    __threadfence();
    is_last = atomicAdd(out.blocks_done, 1u) == block_count - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  LossSums part{0, 0, 0};
  for (unsigned b = threadIdx.x; b < block_count; b += kThreads) {
    const volatile LossSums& other = out.block_sums[b];
    part.l1 += other.l1;
    part.squares += other.squares;
    part.ssim += other.ssim;
  }
  const LossSums all{sum_over_block(part.l1, shared), sum_over_block(part.squares, shared),
                     sum_over_block(part.ssim, shared)};
  if (threadIdx.x != 0) return;
  const double count = 3.0 * in.width * in.height, ssim_weight = in.ssim_weight;
  const double total = (1 - ssim_weight) * all.l1 / count + ssim_weight * (1 - all.ssim / count);
  out.status->loss.total = static_cast<float>(total);
  out.status->loss.mean_squared_error = static_cast<float>(all.squares / count);
  if (!isfinite(out.status->loss.total)) out.status->is_bad = 1;
  *out.blocks_done = 0;
}

__global__ void __launch_bounds__(kThreads) loss_kernel(LossInput in, LossOutput out) {
  __shared__ float2 pair[kThreads];
  __shared__ float derivative[3][kThreads];
  const int thread = static_cast<int>(threadIdx.x), channel = static_cast<int>(blockIdx.z);
  const int column = static_cast<int>(blockIdx.x) * kColumns + thread - 2 * kRadius;
  const int begin = static_cast<int>(blockIdx.y) * kBandRows, end = min(begin + kBandRows, in.height);
  const bool has_means = thread >= kRadius && thread < kThreads - kRadius;
  const bool has_gradient = thread >= 2 * kRadius && thread < kThreads - 2 * kRadius && column < in.width;
  const float scale = 1.0f / (3.0f * static_cast<float>(in.width) * static_cast<float>(in.height));
  const float l1_scale = (1 - in.ssim_weight) * scale, ssim_scale = -in.ssim_weight * scale;
  float x[kTaps], y[kTaps], squares[kTaps], xy[kTaps], d_x[kTaps], d_xx[kTaps], d_xy[kTaps];
#pragma unroll
  for (int i = 0; i < kTaps; ++i) x[i] = y[i] = squares[i] = xy[i] = d_x[i] = d_xx[i] = d_xy[i] = 0;
  float l1 = 0, squared_error = 0, ssim = 0;

  for (int base = begin - 2 * kRadius; base < end + 2 * kRadius; base += kTaps) {
#pragma unroll
    for (int phase = 0; phase < kTaps; ++phase) {
      const int row = base + phase, middle = row - kRadius, top = middle - kRadius;
      if (row >= end + 2 * kRadius) break;
      const PixelPair entering = load_pair(in, channel, column, row);
      pair[thread] = make_float2(entering.x, entering.y);
      __syncthreads();
      float dssim_x = 0, dssim_xx = 0, dssim_xy = 0;
      if (has_means) {
        const FilteredRow f = filter_across(pair + thread, in.window);
        x[phase] = f.x;
        y[phase] = f.y;
        squares[phase] = f.squares;
        xy[phase] = f.xy;
        if (middle >= 0 && middle < in.height && column >= 0 && column < in.width) {
          M::WindowMeans m;
          m.x = filter_down(x, phase, in.window);
          m.y = filter_down(y, phase, in.window);
          m.xx = filter_down(squares, phase, in.window);
          m.yy = 0;
          m.xy = filter_down(xy, phase, in.window);
          const M::WindowMeans d = M::ssim_vjp(m, 1.0f);
          dssim_x = d.x;
          dssim_xx = d.xx;
          dssim_xy = d.xy;
          if (has_gradient && middle >= begin && middle < end) ssim += M::ssim(m);
        }
      }
      derivative[0][thread] = dssim_x;
      derivative[1][thread] = dssim_xx;
      derivative[2][thread] = dssim_xy;
      __syncthreads();
      if (!has_gradient) continue;
      d_x[phase] = filter_across(derivative[0] + thread, in.window);
      d_xx[phase] = filter_across(derivative[1] + thread, in.window);
      d_xy[phase] = filter_across(derivative[2] + thread, in.window);
      if (top < begin || top >= end) continue;
      const PixelPair here = load_pair(in, channel, column, top);
      const float difference = here.x - here.y;
      l1 += fabsf(difference);
      squared_error = fmaf(difference, difference, squared_error);
      const float dL_dx = ssim_scale * (filter_down(d_x, phase, in.window) +
                                        2 * here.x * filter_down(d_xx, phase, in.window) +
                                        here.y * filter_down(d_xy, phase, in.window)) +
                          M::absolute_difference_vjp(here.x, here.y, l1_scale);
      const std::size_t at = static_cast<std::size_t>(top) * in.width + column;
      const std::size_t plane = static_cast<std::size_t>(in.width) * in.height;
      out.dL_dcolor[channel * plane + at] = in.weight ? in.weight[at] * dL_dx : dL_dx;
    }
  }
  finish({l1, squared_error, ssim}, in, out);
}

Window window() {
  Window w;
  for (int i = 0; i <= kRadius; ++i) w.weight[i] = M::ssim_window_weight(i);
  return w;
}

}  // namespace

void CudaBackend::loss_into(const Frame& frame, const LossTarget& target, float ssim_weight, FrameGradient& out) {
  out.color.resize(*this, frame.color.size());
  out.alpha.resize(*this, 0);
  out.depth.resize(*this, 0);
  if (frame.color.empty()) return;
  const LossInput in{pointer(frame.color), pointer(target.color), pointer(target.weight), frame.width_px,
                     frame.height_px,      ssim_weight,           window()};
  const dim3 blocks(blocks_for(static_cast<std::size_t>(frame.width_px), kColumns),
                    blocks_for(static_cast<std::size_t>(frame.height_px), kBandRows), 3);
  loss_sums_.resize(*this, sizeof(LossSums) / sizeof(double) * blocks.x * blocks.y * blocks.z);
  if (loss_blocks_done_.empty()) loss_blocks_done_.resize_zero(*this, 1);
  loss_kernel<<<blocks, kThreads, 0, stream()>>>(
      in, LossOutput{pointer(out.color), reinterpret_cast<LossSums*>(pointer(loss_sums_)), pointer(loss_blocks_done_),
                     status()});
  check(cudaGetLastError(), "start loss");
}

LossValue CudaBackend::loss(const Frame& frame, const LossTarget& target, float ssim_weight, FrameGradient& out) {
  clear_status();
  loss_into(frame, target, ssim_weight, out);
  return read_status().loss;
}

}  // namespace stipple
