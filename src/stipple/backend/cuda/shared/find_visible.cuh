// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which Gaussians a view shows; shared by project and prefetch.
#include "stipple/backend/cuda/shared/gaussian.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"

namespace stipple::cuda {

constexpr int kFindThreads = 128;

// Writes the masks of the Gaussians that are shown, one thread per Gaussian; those of `without` are left out,
// if it is not null.
template <bool kAltered>
__global__ void __launch_bounds__(kFindThreads)
    find_visible_kernel(GaussianPointers g, M::Pinhole camera, M::RenderSettings settings,
                        const VisibleBlock* without, VisibleBlock* visible) {
  const unsigned i = blockIdx.x * kFindThreads + threadIdx.x;
  bool is_shown = false;
  if (i < g.count) {
    const M::ActiveGaussian in = load_gaussian<kAltered>(g, i, settings.scale_modifier);
    is_shown = M::footprint(in.placed, in.opacity, camera, settings).opacity > 0;
  }
  unsigned mask = __ballot_sync(kAllLanes, is_shown);
  if (lane_index() != 0 || i >= g.count) return;
  if (without) mask &= ~without[i / kWarp].mask;
  visible[i / kWarp].mask = mask;
}

}  // namespace stipple::cuda
