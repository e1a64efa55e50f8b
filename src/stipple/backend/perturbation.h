// SPDX-License-Identifier: Apache-2.0
#pragma once
// The noise that lets faint Gaussians wander, one Gaussian at a time: see Backend::perturb.
#include "stipple/core/random.h"
#include "stipple/math/math.h"

namespace stipple {

STIPPLE_HD inline Vec3f perturbed_mean(Vec3f mean, Vec3f log_scale, Vec4f rotation, float logit_opacity,
                                       float amount, std::uint64_t seed, std::uint64_t gaussian) {
  using M = Math<float>;
  constexpr float kSteepness = 100, kFaint = 0.005f;
  constexpr float kNoEffect = 0.25f;  // above this opacity the factor is below 1e-10
  const float opacity = M::sigmoid(logit_opacity);
  if (!(opacity < kNoEffect)) return mean;
  Random random(seed, 8 * gaussian);  // each Gaussian its own piece of the stream
  const float x = random.normal(), y = random.normal(), z = random.normal();
  const Mat3f covariance = M::covariance({M::scale_from_log(log_scale, 1.0f), rotation});
  const Vec3f moved =
      mean + covariance * Vec3f(x, y, z) * (amount * M::sigmoid(kSteepness * (kFaint - opacity)));
  const float zero = (moved.x + moved.y + moved.z) * 0;  // unless one is not finite
  return zero == 0 ? moved : mean;
}

}  // namespace stipple
