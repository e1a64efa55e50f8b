// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "stipple/math/vec.h"

namespace stipple {

// Interpolates linearly from a at t = 0 to b at t = 1; t is clamped to [0, 1].
inline Vec3f mix(Vec3f a, Vec3f b, float t) { return a + (b - a) * std::clamp(t, 0.0f, 1.0f); }

// Rises from 0 at x <= low to 1 at x >= high, with slope 0 at both ends.
inline float smooth_step(float low, float high, float x) {
  float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}

}  // namespace stipple
