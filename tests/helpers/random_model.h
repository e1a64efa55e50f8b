// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models for tests of file formats.
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "stipple/core/gaussians.h"

namespace stipple {

// Gaussians as training makes them: no field is special, and all fit into compact formats.
inline Gaussians random_model(std::size_t count, int sh_degree, unsigned seed = 1) {
  std::mt19937 random(seed);
  const auto uniform = [&](float low, float high) {
    return low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f;
  };
  Gaussians g = make_gaussians(count, sh_degree);
  for (std::size_t i = 0; i < count; ++i) {
    g.mean[i] = {uniform(-20, 20), uniform(-5, 5), uniform(-20, 20)};
    g.log_scale[i] = {uniform(-9, 1), uniform(-9, 1), uniform(-9, 1)};
    g.rotation[i] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)};
    g.logit_opacity[i] = uniform(-5, 8);
    const auto sh_count = static_cast<std::size_t>(g.sh_count());
    for (std::size_t k = 0; k < sh_count; ++k) {
      const float most = k == 0 ? 1.7f : 0.9f;
      g.sh[i * sh_count + k] = {uniform(-most, most), uniform(-most, most), uniform(-most, most)};
    }
  }
  return g;
}

// The same model with NaN, infinities, denormals and huge numbers strewn in.
inline Gaussians with_strange_values(Gaussians gaussians, unsigned seed = 7) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kStrange[] = {std::numeric_limits<float>::quiet_NaN(),
                                kInfinity,
                                -kInfinity,
                                0,
                                -0.0f,
                                std::numeric_limits<float>::max(),
                                std::numeric_limits<float>::lowest(),
                                std::numeric_limits<float>::denorm_min(),
                                1e10f,
                                -1e10f};
  std::mt19937 random(seed);
  for_each_parameter(
      [&](int, auto& array) {
        for (auto& element : array) {
          float* const values = reinterpret_cast<float*>(&element);
          for (std::size_t c = 0; c < sizeof(element) / sizeof(float); ++c)
            if (random() % 3 == 0) values[c] = kStrange[random() % std::size(kStrange)];
        }
      },
      gaussians);
  return gaussians;
}

}  // namespace stipple
