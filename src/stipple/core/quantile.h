// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <vector>

namespace stipple {

// The value that this share of the others, 0 to 1, lies below: 0.5 is the median, of an even number the
// upper.
inline float quantile_of(std::vector<float> values, float share) {
  assert(!values.empty() && 0 <= share && share <= 1);
  const auto rank = static_cast<std::size_t>(share * static_cast<float>(values.size()));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::min(rank, values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace stipple
