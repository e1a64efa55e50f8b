// SPDX-License-Identifier: Apache-2.0
// depth_loss: the gradient of the frame's error at the pixels whose depth is known.
#include <cassert>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 256;

// No two samples share a pixel, so that no addition needs to be atomic.
__global__ void depth_loss_kernel(const DepthSample* samples, unsigned count, const float* inverse_depth,
                                  const float* transmittance, float dL_derror, float* dL_ddepth,
                                  float* dL_dalpha) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const DepthSample s = samples[i];
  const M::DepthPixel pixel{inverse_depth[s.pixel], 1 - transmittance[s.pixel]};
  const M::DepthPixel d = M::depth_error_vjp(pixel, s.inverse_depth, dL_derror);
  dL_ddepth[s.pixel] += d.inverse_depth;
  dL_dalpha[s.pixel] += d.alpha;
}

}  // namespace

void CudaBackend::depth_loss(const DepthSamples& depths, float weight, Pass& pass) {
  assert(!pass.frame.depth.empty());
  const std::size_t count = depths.samples.size();
  if (count == 0) return;
  const DeviceGuard guard(*context_);
  add_depth_gradient(*this, pass);
  depth_loss_kernel<<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
      pointer(depths.samples), static_cast<unsigned>(count), pointer(pass.frame.depth),
      pointer(pass.frame.transmittance), weight * depths.scale / static_cast<float>(count),
      pointer(pass.dL_dframe.depth), pointer(pass.dL_dframe.alpha));
  check(cudaGetLastError(), "launch depth_loss");
  own(pass).events.record(Stage::kLoss, stream());
}

}  // namespace stipple::cuda
