// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/finite.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "stipple/core/parallel.h"

namespace stipple {

std::vector<char> finite_flags(const Gaussians& g) {
  constexpr std::size_t kGrain = 1 << 12;
  std::vector<char> is_finite(g.size(), 1);
  for_each_parameter(
      [&](int per_gaussian, const auto& array) {
        const auto* values = reinterpret_cast<const float*>(array.data());
        const std::size_t stride = static_cast<std::size_t>(per_gaussian) * sizeof(array[0]) / sizeof(float);
        parallel_for(
            g.size(),
            [&](std::size_t i) {
              for (std::size_t k = i * stride; k < (i + 1) * stride; ++k)
                if (!std::isfinite(values[k])) is_finite[i] = 0;
            },
            kGrain);
      },
      g);
  return is_finite;
}

std::vector<std::uint32_t> usable_rows(const Gaussians& g) {
  const std::vector<char> is_finite = finite_flags(g);
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const Vec3f s = g.log_scale[i];
    if (is_finite[i] != 0 && std::isfinite(std::exp(std::max({s.x, s.y, s.z}))))
      rows.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

}  // namespace stipple
