// SPDX-License-Identifier: Apache-2.0
#pragma once
// Patterns averaged over what a pixel covers, its footprint, so that they neither alias nor flicker far away.
#include <algorithm>
#include <cmath>

#include "stipple/core/interpolate.h"
#include "stipple/synth/noise.h"

namespace stipple::synth::city {

// The fraction of [x - width / 2, x + width / 2] whose places have a fractional part from `low` to `high`.
inline float pulse(float x, float width, float low, float high) {
  const auto integral = [&](float v) {
    const float whole = std::floor(v);
    return whole * (high - low) + std::clamp(v - whole - low, 0.0f, high - low);
  };
  const float w = std::max(width, 1e-3f);
  return (integral(x + w / 2) - integral(x - w / 2)) / w;
}

// The same for a single interval.
inline float band(float x, float width, float low, float high) {
  const float w = std::max(width, 1e-3f);
  return std::max(0.0f, std::min(x + w / 2, high) - std::max(x - w / 2, low)) / w;
}

// How much of a pattern with features of this size is left.
inline float visible_part(float feature, float footprint) {
  return 1 - smooth_step(0.3f, 1.2f, footprint / feature);
}

// Noise around 0, from -0.5 to 0.5, with features of this size.
template <class Vec>
float stain(Vec p, float feature, float footprint) {
  const float part = visible_part(feature, footprint);
  return part > 0 ? part * (layered_noise(p * (1 / feature)) - 0.5f) : 0;
}

}  // namespace stipple::synth::city
