// SPDX-License-Identifier: Apache-2.0
// observe: a view's gradients into the statistics, unless one of them is not finite.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/gaussian_backward.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple {

namespace {

constexpr int kThreads = 256;

__global__ void find_bad_kernel(const float* gradient, std::size_t count, StepStatus* status) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < count && !isfinite(gradient[i])) status->is_bad = 1;
}

__global__ void observe_kernel(const ProjectedSplat* splats, const Splat* gradient, const Vec2f* absolute,
                               Vec2f half_size, unsigned count, const StepStatus* status, Vec2f* sum) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count || status->is_bad || !(splats[i].splat.opacity > 0)) return;
  sum[i] = sum[i] + M::density_observation(absolute ? absolute[i] : gradient[i].mean_px, half_size);
}

}  // namespace

bool CudaBackend::observe(const Projection& projection, const SplatGradient& dL_dsplat, const View& view,
                          DensityStatistics& statistics) {
  clear_status();
  const std::size_t count = projection.splat.size();
  if (count == 0) return true;
  const std::size_t floats = count * (sizeof(Splat) / sizeof(float));
  find_bad_kernel<<<blocks_for(floats, kThreads), kThreads, 0, stream()>>>(
      reinterpret_cast<const float*>(pointer(dL_dsplat.splat)), floats, status());
  observe_kernel<<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
      pointer(projection.splat), pointer(dL_dsplat.splat), pointer(dL_dsplat.absolute_mean_px),
      half_size_of(view.camera), static_cast<unsigned>(count), status(), pointer(statistics.sum));
  check(cudaGetLastError(), "start observe");
  return !read_status().is_bad;
}

}  // namespace stipple
