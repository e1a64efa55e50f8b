// SPDX-License-Identifier: Apache-2.0
// perturb: noise that lets faint Gaussians wander. Kheradmand et al., "3D Gaussian Splatting as Markov Chain
// Monte Carlo", 2024.
#include <cmath>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

using M = Math<float>;

constexpr float kSteepness = 100, kFaint = 0.005f;
constexpr float kNoEffect = 0.25f;  // above this opacity the factor is below 1e-10

}  // namespace

void CpuBackend::perturb(DeviceGaussians& gaussians, float amount, std::uint64_t seed) {
  auto mean = host(gaussians.mean), log_scale = host(gaussians.log_scale);
  auto rotation = host(gaussians.rotation);
  auto logit_opacity = host(gaussians.logit_opacity);
  parallel_for(
      mean.size(),
      [&](std::size_t i) {
        const float opacity = M::sigmoid(logit_opacity[i]);
        if (!(opacity < kNoEffect)) return;
        Random random(seed, 8 * i);  // each Gaussian its own piece of the stream
        const float x = random.normal(), y = random.normal(), z = random.normal();
        const Mat3f covariance = M::covariance({M::scale_from_log(log_scale[i], 1.0f), rotation[i]});
        const Vec3f moved =
            mean[i] + covariance * Vec3f(x, y, z) * (amount * M::sigmoid(kSteepness * (kFaint - opacity)));
        if (std::isfinite(moved.x) && std::isfinite(moved.y) && std::isfinite(moved.z)) mean[i] = moved;
      },
      1024);
}

}  // namespace stipple
