// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace stipple {

// The value below which a given share (0 to 1) of the values lies. 0.5 gives the median, or the upper median
// of an even number of values.
inline float quantile_of(std::vector<float> values, float share) {
  assert(!values.empty() && 0 <= share && share <= 1);
  const auto rank = static_cast<std::size_t>(share * static_cast<float>(values.size()));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace stipple
