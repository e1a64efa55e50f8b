// SPDX-License-Identifier: Apache-2.0
// perturb: adds noise that lets faint Gaussians explore. Kheradmand et al., "3D Gaussian Splatting as Markov
// Chain Monte Carlo", 2024.
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

namespace stipple::cpu {

void CpuBackend::perturb(TrainState& state, float amount, std::uint64_t seed, Pass& pass) {
  CpuPass& own = cpu_pass(pass);
  if (!own.may_update()) return;
  DeviceGaussians& gaussians = state.gaussians;
  const std::size_t first = state.part.first;
  auto mean = host(gaussians.mean), log_scale = host(gaussians.log_scale);
  auto rotation = host(gaussians.rotation);
  auto logit_opacity = host(gaussians.logit_opacity);
  const auto seed_low = static_cast<std::uint32_t>(seed), seed_high = static_cast<std::uint32_t>(seed >> 32);
  parallel_for(
      mean.size(),
      [&](std::size_t i) {
        mean[i] = Math<float>::perturbed_mean(mean[i], log_scale[i], rotation[i], logit_opacity[i], amount,
                                              static_cast<std::uint32_t>(first + i), seed_low, seed_high);
      },
      1024);
  own.clock.lap(Stage::kOptimize);
}

}  // namespace stipple::cpu
