// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>

#include "stipple/math/vec.h"

namespace stipple {

// From a at t = 0 to b at t = 1, and no further.
inline Vec3f mix(Vec3f a, Vec3f b, float t) { return a + (b - a) * std::clamp(t, 0.0f, 1.0f); }

// From 0 at x <= low to 1 at x >= high, level at both ends.
inline float smooth_step(float low, float high, float x) {
  float t = std::clamp((x - low) / (high - low), 0.0f, 1.0f);
  return t * t * (3 - 2 * t);
}

}  // namespace stipple
