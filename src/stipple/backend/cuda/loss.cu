// SPDX-License-Identifier: Apache-2.0
// loss: L1 + SSIM of the frame against an 8-bit target, and its gradient, in two sweeps down the image.
//
// A thread block has a strip of columns of one channel, one thread per column, and moves down a band of rows.
// In the first sweep, each row enters at the bottom and is filtered horizontally. The last 11 filtered rows
// are kept in registers; filtering them vertically gives the window's means at the row 5 above, and from
// these SSIM and its derivatives there (the formulas of math/similarity.glsl). The second sweep filters the
// derivatives in the same way and gives the gradient: the window is symmetric, so the same filter serves
// forward and backward. Everything outside the image is zero.
//
// A pixel's weight w replaces the frame's value x by y + w (x - y), where y is the target: with weight 0 the
// pixel counts as already right. A target with alpha is first completed with the view's background; the
// kernels are compiled with and without, so that opaque targets pay nothing for it.
#include <algorithm>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

namespace {

constexpr int kRadius = M::ssim_window_radius_px;
constexpr int kTaps = 2 * kRadius + 1;
constexpr int kThreads = 128;
constexpr int kColumns = kThreads - 2 * kRadius;  // of a strip that produce a result
// Rows around a band's edges are filtered twice: long bands waste less, but small images need many blocks.
constexpr int kMinBandRows = 8, kMaxBandRows = 64;
constexpr int kWantedBlocks = 1200;

struct Window {
  float weight[kRadius + 1];  // by distance from the centre
};

struct LossInput {
  const float* color;
  const std::uint8_t* target;  // interleaved
  const float* weight;         // or null
  const std::uint8_t* alpha;   // of the target; used by the kernels for cut-out targets
  Vec3f background;            // behind the target
  int width, height, band_rows;
  float l1_weight, ssim_weight;
  Window window;

  __device__ std::size_t plane() const { return static_cast<std::size_t>(width) * height; }
  // Not by an index, for which the whole parameter would be copied to memory.
  __device__ float background_of(int channel) const {
    return channel == 0 ? background.x : channel == 1 ? background.y : background.z;
  }
};

struct LossSums {
  double l1, squares, ssim;
};

constexpr int kDerivatives = 3;  // of SSIM with respect to the window's means of x, x^2 and x y

struct LossOutput {
  float* derivative;  // kDerivatives planes per channel
  float* dL_dcolor;
  LossSums* block_sums;  // of both sweeps
  unsigned* blocks_done;
  ViewStatus* status;
};

struct PixelPair {
  float x, y;  // the frame and its target
};

// One channel of a pixel; zeros outside the image.
template <bool kIsCutOut>
__device__ PixelPair load_pair(const LossInput& in, int channel, int column, int row) {
  if (column < 0 || column >= in.width || row < 0 || row >= in.height) return {0, 0};
  const std::size_t at = static_cast<std::size_t>(row) * in.width + column;
  float y = static_cast<float>(in.target[3 * at + channel]) * (1.0f / 255);
  if constexpr (kIsCutOut)
    y = M::over_background(y, static_cast<float>(in.alpha[at]) * (1.0f / 255), in.background_of(channel));
  const float x = in.color[channel * in.plane() + at];
  return {in.weight ? y + in.weight[at] * (x - y) : x, y};
}

struct FilteredRow {        // filtered horizontally, at one column
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

// ring[newest] is the last row; the entry after it, modulo kTaps, is the first.
__device__ float filter_down(const float (&ring)[kTaps], int newest, const Window& window) {
  float sum = ring[(newest + 1 + kRadius) % kTaps] * window.weight[0];
#pragma unroll
  for (int i = 1; i <= kRadius; ++i)
    sum = fmaf(window.weight[i],
               ring[(newest + 1 + kRadius - i) % kTaps] + ring[(newest + 1 + kRadius + i) % kTaps], sum);
  return sum;
}

__device__ void store_block_sums(const LossSums& mine, LossSums* sums) {
  const LossSums all{sum_over_block<kThreads>(mine.l1), sum_over_block<kThreads>(mine.squares),
                     sum_over_block<kThreads>(mine.ssim)};
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x == 0) sums[block] = all;
}

// The last block to finish adds up the sums of all blocks, in a fixed order.
__device__ void finish(const LossInput& in, const LossOutput& out) {
  __shared__ bool is_last;
  const unsigned block_count = gridDim.x * gridDim.y * gridDim.z;
  if (threadIdx.x == 0) {
    __threadfence();
    is_last = atomicAdd(out.blocks_done, 1u) == block_count - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  LossSums part{0, 0, 0};
  for (unsigned b = threadIdx.x; b < 2 * block_count; b += kThreads) {
    const volatile LossSums& other = out.block_sums[b];
    part.l1 += other.l1;
    part.squares += other.squares;
    part.ssim += other.ssim;
  }
  const LossSums all{sum_over_block<kThreads>(part.l1), sum_over_block<kThreads>(part.squares),
                     sum_over_block<kThreads>(part.ssim)};
  if (threadIdx.x != 0) return;
  const double count = 3.0 * in.width * in.height, l1_weight = in.l1_weight, ssim_weight = in.ssim_weight;
  const double total = l1_weight * all.l1 / count + ssim_weight * (1 - all.ssim / count);
  out.status->loss.total = static_cast<float>(total);
  out.status->loss.mean_squared_error = static_cast<float>(all.squares / count);
  if (!isfinite(out.status->loss.total)) out.status->is_bad = 1;
  *out.blocks_done = 0;
}

struct Strip {  // this thread's column, and the band's rows
  int column, channel, begin, end;
  bool has_result;

  __device__ explicit Strip(const LossInput& in) {
    const int thread = static_cast<int>(threadIdx.x);
    column = static_cast<int>(blockIdx.x) * kColumns + thread - kRadius;
    channel = static_cast<int>(blockIdx.z);
    begin = static_cast<int>(blockIdx.y) * in.band_rows;
    end = min(begin + in.band_rows, in.height);
    has_result = thread >= kRadius && thread < kThreads - kRadius && column < in.width;
  }
};

// Calls enter(row, phase) for the rows of a band and the kRadius rows above and below it, where phase is the
// row's index in the rings of the last 11 rows. Once the window around a row of the band is complete, calls
// leave(row, phase), with the phase of the newest row.
template <class Enter, class Leave>
__device__ void sweep(const Strip& strip, Enter enter, Leave leave) {
  for (int base = strip.begin - kRadius; base < strip.end + kRadius; base += kTaps) {
#pragma unroll
    for (int phase = 0; phase < kTaps; ++phase) {
      const int row = base + phase;
      if (row >= strip.end + kRadius) return;
      enter(row, phase);
      if (row - kRadius >= strip.begin && strip.has_result) leave(row - kRadius, phase);
    }
  }
}

template <bool kIsCutOut>
__global__ void __launch_bounds__(kThreads) similarity_kernel(LossInput in, LossOutput out) {
  __shared__ float2 pair[2][kThreads];
  const Strip strip(in);
  float x[kTaps], y[kTaps], squares[kTaps], xy[kTaps], ssim = 0;
#pragma unroll
  for (int i = 0; i < kTaps; ++i) x[i] = y[i] = squares[i] = xy[i] = 0;
  // Loaded one row ahead, to hide the latency of memory.
  PixelPair next = load_pair<kIsCutOut>(in, strip.channel, strip.column, strip.begin - kRadius);
  float* derivative = out.derivative + kDerivatives * strip.channel * in.plane() + strip.column;
  sweep(
      strip,
      [&](int row, int phase) {
        float2* here = pair[row & 1];  // two, so that no thread overwrites what another still reads
        here[threadIdx.x] = make_float2(next.x, next.y);
        next = load_pair<kIsCutOut>(in, strip.channel, strip.column, row + 1);
        __syncthreads();
        if (!strip.has_result) return;
        const FilteredRow f = filter_across(here + threadIdx.x, in.window);
        x[phase] = f.x;
        y[phase] = f.y;
        squares[phase] = f.squares;
        xy[phase] = f.xy;
      },
      [&](int row, int phase) {
        M::WindowMeans m;
        m.x = filter_down(x, phase, in.window);
        m.y = filter_down(y, phase, in.window);
        m.xx = filter_down(squares, phase, in.window);
        m.yy = 0;
        m.xy = filter_down(xy, phase, in.window);
        const M::WindowMeans d = M::ssim_vjp(m, 1.0f);
        ssim += M::ssim(m);
        const std::size_t at = static_cast<std::size_t>(row) * in.width;
        derivative[at] = d.x;
        derivative[at + in.plane()] = d.xx;
        derivative[at + 2 * in.plane()] = d.xy;
      });
  store_block_sums({0, 0, static_cast<double>(ssim)}, out.block_sums);
}

__device__ float3 load_derivatives(const LossInput& in, const LossOutput& out, const Strip& strip, int row) {
  if (strip.column < 0 || strip.column >= in.width || row < 0 || row >= in.height)
    return make_float3(0, 0, 0);
  const float* at = out.derivative + kDerivatives * strip.channel * in.plane() +
                    static_cast<std::size_t>(row) * in.width + strip.column;
  return make_float3(at[0], at[in.plane()], at[2 * in.plane()]);
}

template <bool kIsCutOut>
__global__ void __launch_bounds__(kThreads) gradient_kernel(LossInput in, LossOutput out) {
  __shared__ float derivative[2][kDerivatives][kThreads];
  const Strip strip(in);
  const float scale = 1.0f / (3.0f * static_cast<float>(in.width) * static_cast<float>(in.height));
  const float l1_scale = in.l1_weight * scale, ssim_scale = -in.ssim_weight * scale;
  float d_x[kTaps], d_xx[kTaps], d_xy[kTaps], l1 = 0, squared_error = 0;
#pragma unroll
  for (int i = 0; i < kTaps; ++i) d_x[i] = d_xx[i] = d_xy[i] = 0;
  float3 next = load_derivatives(in, out, strip, strip.begin - kRadius);
  PixelPair pixel{0, 0};
  sweep(
      strip,
      [&](int row, int phase) {
        auto& here = derivative[row & 1];
        here[0][threadIdx.x] = next.x;
        here[1][threadIdx.x] = next.y;
        here[2][threadIdx.x] = next.z;
        next = load_derivatives(in, out, strip, row + 1);
        pixel = load_pair<kIsCutOut>(in, strip.channel, strip.column, row - kRadius);
        __syncthreads();
        if (!strip.has_result) return;
        d_x[phase] = filter_across(here[0] + threadIdx.x, in.window);
        d_xx[phase] = filter_across(here[1] + threadIdx.x, in.window);
        d_xy[phase] = filter_across(here[2] + threadIdx.x, in.window);
      },
      [&](int row, int phase) {
        const float difference = pixel.x - pixel.y;
        l1 += fabsf(difference);
        squared_error = fmaf(difference, difference, squared_error);
        const float dL_dx = ssim_scale * (filter_down(d_x, phase, in.window) +
                                          2 * pixel.x * filter_down(d_xx, phase, in.window) +
                                          pixel.y * filter_down(d_xy, phase, in.window)) +
                            M::absolute_difference_vjp(pixel.x, pixel.y, l1_scale);
        const std::size_t at = static_cast<std::size_t>(row) * in.width + strip.column;
        out.dL_dcolor[strip.channel * in.plane() + at] = in.weight ? in.weight[at] * dL_dx : dL_dx;
      });
  const unsigned block_count = gridDim.x * gridDim.y * gridDim.z;
  store_block_sums({l1, squared_error, 0}, out.block_sums + block_count);
  finish(in, out);
}

Window window() {
  Window w;
  for (int i = 0; i <= kRadius; ++i) w.weight[i] = M::ssim_window_weight(i);
  return w;
}

}  // namespace

void CudaBackend::loss(const View& view, const LossTarget& target, const LossOptions& options, Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  if (mine.view_ids.empty()) begin_view(mine, {});  // the frame was rendered elsewhere
  const Frame& frame = pass.frame;
  FrameGradient& out = pass.dL_dframe;
  out.color.resize(*this, frame.color.size());
  out.alpha.resize(*this, 0);
  out.depth.resize(*this, 0);
  if (frame.color.empty()) return;
  const unsigned strips = blocks_for(static_cast<std::size_t>(frame.width_px), kColumns);
  const int bands = kWantedBlocks / static_cast<int>(3 * strips) + 1;
  const int band_rows = std::clamp((frame.height_px + bands - 1) / bands, kMinBandRows, kMaxBandRows);
  const LossInput in{pointer(frame.color),
                     pointer(target.color),
                     pointer(target.weight),
                     pointer(target.alpha),
                     view.options.background,
                     frame.width_px,
                     frame.height_px,
                     band_rows,
                     options.l1_weight,
                     options.ssim_weight,
                     window()};
  const dim3 blocks(strips, blocks_for(static_cast<std::size_t>(frame.height_px), band_rows), 3);
  mine.loss_sums.resize(*this, 2 * sizeof(LossSums) / sizeof(double) * blocks.x * blocks.y * blocks.z);
  if (mine.loss_blocks_done.empty()) mine.loss_blocks_done.resize_zero(*this, 1);
  mine.arena.begin(Arena::padded(kDerivatives * frame.color.size() * sizeof(float)));
  const LossOutput to{mine.arena.take<float>(kDerivatives * frame.color.size()), pointer(out.color),
                      reinterpret_cast<LossSums*>(pointer(mine.loss_sums)), pointer(mine.loss_blocks_done),
                      mine.view_status()};
  if (target.alpha.empty()) {
    similarity_kernel<false><<<blocks, kThreads, 0, stream()>>>(in, to);
    gradient_kernel<false><<<blocks, kThreads, 0, stream()>>>(in, to);
  } else {
    similarity_kernel<true><<<blocks, kThreads, 0, stream()>>>(in, to);
    gradient_kernel<true><<<blocks, kThreads, 0, stream()>>>(in, to);
  }
  check(cudaGetLastError(), "launch loss");
  if (!mine.keeps_scratch()) mine.arena.release();
  mine.events.record(Stage::kLoss, stream());
}

}  // namespace stipple::cuda
