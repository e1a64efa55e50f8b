// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace stipple {

// Up to `most` of `count` indices, spread evenly: the middles of equal parts.
inline std::vector<std::size_t> spread(std::size_t count, std::size_t most) {
  const std::size_t parts = std::min(count, most);
  std::vector<std::size_t> chosen;
  for (std::size_t part = 0; part < parts; ++part) chosen.push_back((2 * part + 1) * count / (2 * parts));
  return chosen;
}

// The same of given indices.
inline std::vector<std::size_t> spread(std::span<const std::size_t> from, std::size_t most) {
  std::vector<std::size_t> chosen = spread(from.size(), most);
  for (std::size_t& i : chosen) i = from[i];
  return chosen;
}

}  // namespace stipple
