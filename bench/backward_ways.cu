// SPDX-License-Identifier: Apache-2.0
// Four ways to accumulate the gradients of many pixels in one Gaussian, timed on the same scenes beside the
// default, and checked against it:
//
//   A  One thread per pixel; every pixel adds its share to the Gaussian's sums atomically.
//   B  The same, but a warp first adds up its pixels, and one lane adds the result.
//   C  One warp per bucket of 32 splats, one lane per splat. Pixels are passed from lane to lane, and a
//      splat's sums never leave its lane. The forward pass must have stored the state of the pixels at the
//      start of every bucket; this is timed separately. Mallick et al., "Taming 3DGS", 2024.
//   D  As used with --deterministic, including the sums of pairs and of Gaussians.
//
// backward_ways [SCENE]
#include <cstdio>
#include <cstring>
#include <functional>

#include "bench/scenes.h"
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {
namespace {

constexpr int kPixels = 256, kBucket = 32;
constexpr float kLeastExponent = -7.9943534f;  // -log2(255)

struct Inputs {
  const ProjectedSplat* splats;
  const std::uint32_t *splat_from_slot, *slot_begin, *slot_end, *bucket_begin;
  const float *color, *dL_dcolor;
  int columns, width, height;
  float log2_alpha_max;
  float4* checkpoint;  // C: the state of every pixel at the start of every bucket
  float* sums;         // 12 per Gaussian: red, green, blue, the six moments, 3 unused
};

struct Loaded {
  float x, y, a, b, c, log2_opacity, max_exponent, red, green, blue;
};

__device__ Loaded load(const Inputs& in, unsigned slot) {
  constexpr float kLog2E = 1.44269504f;
  const ProjectedSplat& p = in.splats[in.splat_from_slot[slot]];
  const Splat& s = p.splat;
  return {s.mean_px.x,
          s.mean_px.y,
          -0.5f * kLog2E * s.conic.x,
          -kLog2E * s.conic.y,
          -0.5f * kLog2E * s.conic.z,
          p.log2_opacity,
          fminf(p.log2_opacity, in.log2_alpha_max),
          s.channels.x,
          s.channels.y,
          s.channels.z};
}

struct Pixel {
  float front, behind, red, green, blue;  // the colours are gradients
};

// What one pixel adds to one splat's sums; returns false if nothing.
__device__ bool share_of(const Loaded& s, float px, float py, float log2_alpha_max, Pixel& pixel,
                         float (&field)[9]) {
  const float dx = px - s.x, dy = py - s.y;
  const float y = fmaf(dy, fmaf(s.c, dy, s.b * dx), fmaf(s.a * dx, dx, s.log2_opacity));
  if (!(y >= kLeastExponent) || pixel.front == 0) return false;
  const float front = pixel.front, alpha = exp2f(fminf(y, s.max_exponent)), weight = front * alpha;
  const float after = front - weight;
  if (after < M::min_transmittance) {
    pixel.front = 0;
    return false;
  }
  pixel.front = after;
  const float p = s.red * pixel.red + s.green * pixel.green + s.blue * pixel.blue;
  pixel.behind -= weight * p;
  const float dL_dalpha = front * p - __fdividef(pixel.behind, 1 - alpha);
  const float q = y < log2_alpha_max ? alpha * dL_dalpha : 0.0f;
  field[0] = weight * pixel.red;
  field[1] = weight * pixel.green;
  field[2] = weight * pixel.blue;
  field[3] = q;
  field[4] = q * dx;
  field[5] = q * dy;
  field[6] = q * dx * dx;
  field[7] = q * dx * dy;
  field[8] = q * dy * dy;
  return true;
}

__device__ Pixel first_pixel(const Inputs& in, int x, int y, float front, float red, float green,
                             float blue) {
  if (x >= in.width || y >= in.height) return {0, 0, 0, 0, 0};
  const std::size_t plane = static_cast<std::size_t>(in.width) * in.height,
                    at = static_cast<std::size_t>(y) * in.width + x;
  Pixel p{front, 0, in.dL_dcolor[at], in.dL_dcolor[plane + at], in.dL_dcolor[2 * plane + at]};
  p.behind = p.red * (in.color[at] - red) + p.green * (in.color[plane + at] - green) +
             p.blue * (in.color[2 * plane + at] - blue);
  return p;
}

template <bool kReduces>
__global__ void __launch_bounds__(kPixels) pixel_kernel(Inputs in) {
  __shared__ Loaded staged[kPixels];
  const unsigned tile = blockIdx.x;
  const int x = static_cast<int>(tile) % in.columns * 16 + threadIdx.x % 16,
            y = static_cast<int>(tile) / in.columns * 16 + threadIdx.x / 16;
  Pixel pixel = first_pixel(in, x, y, 1, 0, 0, 0);
  const unsigned begin = in.slot_begin[tile], end = in.slot_end[tile];
  for (unsigned batch = begin; batch < end; batch += kPixels) {
    if (__syncthreads_and(pixel.front == 0)) break;
    const unsigned count = min(end - batch, static_cast<unsigned>(kPixels));
    if (threadIdx.x < count) staged[threadIdx.x] = load(in, batch + threadIdx.x);
    __syncthreads();
    for (unsigned k = 0; k < count; ++k) {
      float field[9] = {};
      const bool is_drawn = share_of(staged[k], x + 0.5f, y + 0.5f, in.log2_alpha_max, pixel, field);
      float* to = in.sums + 12 * static_cast<std::size_t>(in.splat_from_slot[batch + k]);
      if constexpr (kReduces) {
        if (!__any_sync(kAllLanes, is_drawn)) continue;
        for (float& f : field) f = sum_over_warp(f);
        if (lane_index() == 0)
          for (int i = 0; i < 9; ++i) atomicAdd(to + i, field[i]);
      } else if (is_drawn) {
        for (int i = 0; i < 9; ++i) atomicAdd(to + i, field[i]);
      }
    }
  }
}

// C: the checkpoints of the forward pass.
__global__ void __launch_bounds__(kPixels) checkpoint_kernel(Inputs in) {
  __shared__ Loaded staged[kBucket];
  const unsigned tile = blockIdx.x;
  const float px = static_cast<float>(static_cast<int>(tile) % in.columns * 16 + threadIdx.x % 16) + 0.5f,
              py = static_cast<float>(static_cast<int>(tile) / in.columns * 16 + threadIdx.x / 16) + 0.5f;
  const unsigned begin = in.slot_begin[tile], end = in.slot_end[tile];
  float4 state = make_float4(px < in.width && py < in.height ? 1.0f : 0.0f, 0, 0, 0);
  std::size_t bucket = in.bucket_begin[tile];
  for (unsigned batch = begin; batch < end; batch += kBucket, ++bucket) {
    __syncthreads();
    in.checkpoint[bucket * kPixels + threadIdx.x] = state;
    const unsigned count = min(end - batch, static_cast<unsigned>(kBucket));
    if (threadIdx.x < count) staged[threadIdx.x] = load(in, batch + threadIdx.x);
    __syncthreads();
    for (unsigned k = 0; k < count && state.x > 0; ++k) {
      const Loaded& s = staged[k];
      const float dx = px - s.x, dy = py - s.y;
      const float y = fmaf(dy, fmaf(s.c, dy, s.b * dx), fmaf(s.a * dx, dx, s.log2_opacity));
      if (!(y >= kLeastExponent)) continue;
      const float weight = state.x * exp2f(fminf(y, s.max_exponent)), after = state.x - weight;
      if (after < M::min_transmittance)
        state.x = 0;
      else
        state = make_float4(after, fmaf(weight, s.red, state.y), fmaf(weight, s.green, state.z),
                            fmaf(weight, s.blue, state.w));
    }
  }
}

__global__ void __launch_bounds__(128)
    bucket_kernel(Inputs in, const std::uint32_t* tile_from_bucket, unsigned bucket_count) {
  __shared__ Pixel waiting[4][kWarp];
  const unsigned bucket = blockIdx.x * 4 + threadIdx.x / kWarp;
  if (bucket >= bucket_count) return;
  const unsigned tile = tile_from_bucket[bucket];
  const unsigned slot = in.slot_begin[tile] + (bucket - in.bucket_begin[tile]) * kBucket + lane_index();
  const bool has_splat = slot < in.slot_end[tile];
  Loaded s{};
  if (has_splat) s = load(in, slot);
  const int x0 = static_cast<int>(tile) % in.columns * 16, y0 = static_cast<int>(tile) / in.columns * 16;
  Pixel* next = waiting[threadIdx.x / kWarp];
  Pixel pixel{0, 0, 0, 0, 0};
  float sums[9] = {};
  bool any = false;
  for (int i = 0; i < kPixels + kWarp - 1; ++i) {
    if (i % kWarp == 0 && i < kPixels) {  // the next 32 pixels
      const int p = i + lane_index();
      const float4 state = in.checkpoint[static_cast<std::size_t>(bucket) * kPixels + p];
      __syncwarp();
      next[lane_index()] = first_pixel(in, x0 + p % 16, y0 + p / 16, state.x, state.y, state.z, state.w);
      __syncwarp();
    }
    pixel.front = __shfl_up_sync(kAllLanes, pixel.front, 1);
    pixel.behind = __shfl_up_sync(kAllLanes, pixel.behind, 1);
    pixel.red = __shfl_up_sync(kAllLanes, pixel.red, 1);
    pixel.green = __shfl_up_sync(kAllLanes, pixel.green, 1);
    pixel.blue = __shfl_up_sync(kAllLanes, pixel.blue, 1);
    if (lane_index() == 0) pixel = i < kPixels ? next[i % kWarp] : Pixel{0, 0, 0, 0, 0};
    const int p = i - lane_index();
    float field[9];
    if (p < 0 || p >= kPixels || !has_splat ||
        !share_of(s, x0 + p % 16 + 0.5f, y0 + p / 16 + 0.5f, in.log2_alpha_max, pixel, field))
      continue;
    any = true;
    for (int f = 0; f < 9; ++f) sums[f] += field[f];
  }
  if (!any) return;
  float* to = in.sums + 12 * static_cast<std::size_t>(in.splat_from_slot[slot]);
  for (int f = 0; f < 9; ++f) atomicAdd(to + f, sums[f]);
}

double milliseconds(const std::function<void()>& run) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "create an event");
  check(cudaEventCreate(&end), "create an event");
  std::vector<float> times;
  for (int i = 0; i < 12; ++i) {
    check(cudaDeviceSynchronize(), "wait");
    check(cudaEventRecord(begin), "record an event");
    run();
    check(cudaEventRecord(end), "record an event");
    check(cudaEventSynchronize(end), "wait");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin, end), "read an event");
    if (i >= 2) times.push_back(ms);
  }
  std::nth_element(times.begin(), times.begin() + 5, times.end());
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return static_cast<double>(times[5]);
}

// The relative error, by norm, of the colours and conic.x, which both have in the same form up to a factor.
double difference(const std::vector<float>& sums, const std::vector<Splat>& gradients) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const float expected[] = {gradients[i].channels.x, gradients[i].channels.y, gradients[i].channels.z};
    for (int k = 0; k < 3; ++k) {
      const double e = expected[k], d = sums[12 * i + k] - e;
      error += d * d;
      norm += e * e;
    }
    const double e = gradients[i].conic.x, d = -0.5 * static_cast<double>(sums[12 * i + 6]) - e;
    error += d * d;
    norm += e * e;
  }
  return std::sqrt(error / norm);
}

// A backend that has run every stage up to the loss.
struct Scene {
  CudaBackend backend;
  View view;
  DeviceGaussians gaussians;
  Pass b;

  Scene(const BenchScene& scene, bool deterministic)
      : backend({.deterministic = deterministic}), view(bench_view(scene)) {
    gaussians = upload(backend, bench_gaussians(scene));
    Random random(2);
    std::vector<std::uint8_t> photo(3ull * scene.width * scene.height);
    for (auto& v : photo) v = static_cast<std::uint8_t>(random.below(256));
    LossTarget target;
    target.color.upload(backend, photo);
    forward(backend, gaussians, {}, view, b);
    backend.loss(view, target, {}, b);
  }
  double backward_ms() {
    return milliseconds([&] {
      backend.blend_backward(view, {}, b);
      DeviceArray<std::uint32_t> one;
      one.resize_zero(backend, 1);
      one.download(backend);  // waits
    });
  }
};

void run(const BenchScene& bench) {
  Scene used(bench, false), ordered(bench, true);
  const double used_ms = used.backward_ms(), ordered_ms = ordered.backward_ms();
  const auto expected = used.b.dL_dsplat.splat.download(used.backend);

  // The buckets of every tile.
  const auto begin = used.b.bins.slot_begin_from_tile.download(used.backend);
  const auto end = used.backend.own(used.b).chunks.slot_end_from_tile.download(used.backend);
  std::vector<std::uint32_t> bucket_begin(begin.size()), tile_from_bucket;
  for (std::size_t t = 0; t + 1 < begin.size(); ++t) {
    bucket_begin[t] = static_cast<std::uint32_t>(tile_from_bucket.size());
    for (std::uint32_t s = begin[t]; s < end[t]; s += kBucket)
      tile_from_bucket.push_back(static_cast<std::uint32_t>(t));
  }
  const DeviceArray<std::uint32_t> device_bucket_begin(used.backend, bucket_begin),
      device_tiles(used.backend, tile_from_bucket);
  DeviceArray<Vec4f> checkpoint;
  checkpoint.resize(used.backend, tile_from_bucket.size() * kPixels);
  DeviceArray<float> sums;
  sums.resize_zero(used.backend, 12 * bench.count);
  const Inputs in{pointer(used.b.projection.splat),
                  pointer(used.b.bins.splat_from_slot),
                  pointer(used.b.bins.slot_begin_from_tile),
                  pointer(used.backend.own(used.b).chunks.slot_end_from_tile),
                  pointer(device_bucket_begin),
                  pointer(used.b.frame.color),
                  pointer(used.b.dL_dframe.color),
                  used.b.bins.column_count,
                  bench.width,
                  bench.height,
                  std::log2(used.view.options.alpha_max),
                  reinterpret_cast<float4*>(pointer(checkpoint)),
                  pointer(sums)};
  const auto tiles = static_cast<unsigned>(begin.size() - 1),
             buckets = static_cast<unsigned>(tile_from_bucket.size());
  const auto error_of = [&](const std::function<void()>& way) {
    used.backend.fill_zero(*sums.memory(), sums.size() * sizeof(float));
    sums.download(used.backend);
    way();
    check(cudaDeviceSynchronize(), "run");
    return difference(sums.download(used.backend), expected);
  };
  const auto a = [&] { pixel_kernel<false><<<tiles, kPixels>>>(in); };
  const auto b = [&] { pixel_kernel<true><<<tiles, kPixels>>>(in); };
  const auto prepare_c = [&] { checkpoint_kernel<<<tiles, kPixels>>>(in); };
  const auto c = [&] { bucket_kernel<<<(buckets + 3) / 4, 128>>>(in, pointer(device_tiles), buckets); };
  prepare_c();
  std::printf("# %s: %u buckets, %.0f MiB of checkpoints for C\n", bench.name.c_str(), buckets,
              static_cast<double>(checkpoint.size()) * 16 / (1 << 20));
  const auto print = [](const char* name, double ms, double error) {
    std::printf("%-44s %9.4f %.1e\n", name, ms, error);
  };
  print("A: atomic additions by every pixel", milliseconds(a), error_of(a));
  print("B: atomic additions by every warp", milliseconds(b), error_of(b));
  print("C: buckets of 32 splats", milliseconds(c), error_of(c));
  print("C: its checkpoints, in a separate pass", milliseconds(prepare_c), 0);
  print("D: sums of pairs, then Gaussians (ordered)", ordered_ms, 0);
  print("default: tables, tensor cores, atomics", used_ms, 0);
}

}  // namespace
}  // namespace stipple::cuda

int main(int argc, char** argv) {
  for (const stipple::BenchScene& scene : stipple::kGpuScenes)
    if (argc < 2 || scene.name == argv[1]) stipple::cuda::run(scene);
}
