// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/finite.h"

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

}  // namespace stipple
