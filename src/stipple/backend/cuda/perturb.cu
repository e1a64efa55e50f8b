// SPDX-License-Identifier: Apache-2.0
// perturb: adds noise that moves faint Gaussians. Kheradmand et al., "3D Gaussian Splatting as Markov Chain
// Monte Carlo", 2024.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/adam.cuh"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 256;

__global__ void perturb_kernel(Vec3f* mean, const Vec3f* log_scale, const Vec4f* rotation,
                               const float* logit_opacity, unsigned first, unsigned count, float amount,
                               std::uint64_t seed, const ViewStatus* status, int view_count) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count || !may_update(status, view_count)) return;
  mean[i] = M::perturbed_mean(mean[i], log_scale[i], rotation[i], logit_opacity[i], amount, first + i,
                              static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
}

}  // namespace

void CudaBackend::perturb(TrainState& state, float amount, std::uint64_t seed, Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  DeviceGaussians& g = state.gaussians;
  if (g.size() == 0) return;
  perturb_kernel<<<blocks_for(g.size(), kThreads), kThreads, 0, stream()>>>(
      pointer(g.mean), pointer(g.log_scale), pointer(g.rotation), pointer(g.logit_opacity),
      static_cast<unsigned>(state.part.first), static_cast<unsigned>(g.size()), amount, seed,
      pointer(mine.status), static_cast<int>(mine.view_ids.size()));
  check(cudaGetLastError(), "launch perturb");
  mine.events.record(Stage::kOptimize, stream());
}

}  // namespace stipple::cuda
