// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/select.h"

namespace stipple {

void keep_rows(std::span<const std::uint32_t> rows, Gaussians& gaussians) {
  for_each_parameter([&](int per_gaussian, auto& array) { keep_rows(rows, per_gaussian, array); }, gaussians);
}

Gaussians select(const Gaussians& gaussians, std::span<const std::uint32_t> rows) {
  Gaussians selected;
  selected.sh_degree = gaussians.sh_degree;
  for_each_parameter(
      [&](int per_gaussian, auto& to, const auto& from) {
        const auto n = static_cast<std::size_t>(per_gaussian);
        to.reserve(rows.size() * n);
        for (const std::uint32_t row : rows)
          to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(row * n),
                    from.begin() + static_cast<std::ptrdiff_t>((row + 1) * n));
      },
      selected, gaussians);
  return selected;
}

}  // namespace stipple
