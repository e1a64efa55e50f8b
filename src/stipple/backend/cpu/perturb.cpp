// SPDX-License-Identifier: Apache-2.0
// perturb: noise that lets faint Gaussians wander. Kheradmand et al., "3D Gaussian Splatting as Markov Chain
// Monte Carlo", 2024.
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/perturbation.h"
#include "stipple/core/parallel.h"

namespace stipple {

void CpuBackend::perturb(DeviceGaussians& gaussians, float amount, std::uint64_t seed, Pass& pass) {
  CpuPass& own = cpu_pass(pass);
  if (!own.may_update()) return;
  auto mean = host(gaussians.mean), log_scale = host(gaussians.log_scale);
  auto rotation = host(gaussians.rotation);
  auto logit_opacity = host(gaussians.logit_opacity);
  parallel_for(
      mean.size(),
      [&](std::size_t i) {
        mean[i] = perturbed_mean(mean[i], log_scale[i], rotation[i], logit_opacity[i], amount, seed, i);
      },
      1024);
  own.clock.lap(Stage::kOptimize);
}

}  // namespace stipple
