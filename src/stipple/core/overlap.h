// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstdint>

namespace stipple {

// Calls f(old index, length of the overlap) for every old pixel that overlaps the new pixel [begin, end)
// along one axis. The unit of length is such that every pixel boundary is an integer.
template <class F>
void for_each_overlap(std::int64_t begin, std::int64_t end, std::int64_t old_pixel, F f) {
  for (std::int64_t i = begin / old_pixel; i * old_pixel < end; ++i) {
    const std::int64_t length = std::min(end, (i + 1) * old_pixel) - std::max(begin, i * old_pixel);
    f(static_cast<int>(i), length);
  }
}

}  // namespace stipple
