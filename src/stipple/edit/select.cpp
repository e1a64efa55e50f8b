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
      [&](int per_gaussian, auto& to, const auto& from) { to = select(from, rows, per_gaussian); }, selected,
      gaussians);
  return selected;
}

}  // namespace stipple
