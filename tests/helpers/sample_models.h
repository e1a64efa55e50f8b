// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models for tests of file formats, and how far a model that was loaded may be from the one that was saved.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "stipple/core/gaussians.h"
#include "stipple/math/math.h"

namespace stipple {

// Values as they are in trained models: dense around the origin with a few distant Gaussians.
inline Gaussians trained_looking_model(std::size_t count, int sh_degree, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  const auto any = [&](float spread) { return spread * normal(random); };
  Gaussians g = make_gaussians(count, sh_degree);
  for (std::size_t i = 0; i < count; ++i) {
    const float far = std::exp(std::abs(any(1.5f)));
    g.mean[i] = {any(far), any(far), any(far)};
    g.log_scale[i] = {-4 + any(1), -4 + any(1), -5 + any(2)};
    g.rotation[i] = {any(1), any(1), any(1), any(1)};
    g.logit_opacity[i] = any(4);
    const auto k = static_cast<std::size_t>(g.sh_count());
    g.sh[i * k] = {any(0.8f), any(0.8f), any(0.8f)};
    for (std::size_t j = 1; j < k; ++j) g.sh[i * k + j] = {any(0.2f), any(0.2f), any(0.2f)};
  }
  return g;
}

inline bool all_finite(const Gaussians& g) {
  bool finite = true;
  for_each_parameter(
      [&](int, const auto& array) {
        const auto* const values = reinterpret_cast<const float*>(array.data());
        finite = finite && std::all_of(values, values + array.size() * sizeof(array[0]) / sizeof(float),
                                       [](float value) { return std::isfinite(value); });
      },
      g);
  return finite;
}

// Ordinary Gaussians, of which some have a number that is NaN, infinite or as large or small as a float can
// be: every such number in every place.
inline Gaussians hostile_model(std::size_t count, int sh_degree) {
  using Limits = std::numeric_limits<float>;
  constexpr std::array<float, 9> kNumbers = {Limits::quiet_NaN(),
                                             Limits::infinity(),
                                             -Limits::infinity(),
                                             Limits::max(),
                                             Limits::lowest(),
                                             1e30f,
                                             -1e30f,
                                             Limits::denorm_min(),
                                             0.0f};
  Gaussians g = trained_looking_model(count, sh_degree, 2);
  std::size_t next = 0;
  for_each_parameter(
      [&](int, auto& array) {
        auto* const floats = reinterpret_cast<float*>(array.data());
        const std::size_t size = array.size() * sizeof(array[0]) / sizeof(float);
        for (std::size_t i = 0; i < size; i += 7, ++next) floats[i] = kNumbers[next % kNumbers.size()];
      },
      g);
  return g;
}

// For each Gaussian of `from`, the index of the nearest one in `to`.
inline std::vector<std::uint32_t> nearest_gaussians(const Gaussians& from, const Gaussians& to) {
  std::vector<std::uint32_t> nearest;
  for (const Vec3f& mean : from.mean) {
    const auto distance = [&](const Vec3f& other) { return dot(other - mean, other - mean); };
    const auto found = std::min_element(to.mean.begin(), to.mean.end(), [&](const Vec3f& a, const Vec3f& b) {
      return distance(a) < distance(b);
    });
    nearest.push_back(static_cast<std::uint32_t>(found - to.mean.begin()));
  }
  return nearest;
}

// The sine of half the angle between two rotations, from quaternions of any length and sign.
inline float rotation_difference(Vec4f a, Vec4f b) {
  const float cosine = dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
  return std::sqrt(std::max(0.0f, 1 - cosine * cosine));
}

inline float opacity_difference(float logit_a, float logit_b) {
  return std::abs(Math<float>::sigmoid(logit_a) - Math<float>::sigmoid(logit_b));
}

}  // namespace stipple
