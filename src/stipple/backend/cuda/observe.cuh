// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/cuda/kernel.cuh"
#include "stipple/core/camera.h"

namespace stipple {

inline Vec2f half_size_of(const Camera& camera) {
  return {0.5f * static_cast<float>(camera.width_px), 0.5f * static_cast<float>(camera.height_px)};
}

// One view of one Gaussian into the statistics that density control decides by.
__device__ inline void add_observation(Vec2f dL_dmean_px, Vec2f half_size, Vec2f& sum) {
  const Vec2f g = dL_dmean_px * half_size;
  sum = sum + Vec2f(sqrtf(dot(g, g)), 1);
}

}  // namespace stipple
