// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace stipple {

// Reads the number whose bytes start at `from`, which need not be aligned. `swap` is for numbers that are not
// in native byte order. All bits are preserved, including those of a NaN.
template <class T>
T load_number(const std::byte* from, bool swap) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (swap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

}  // namespace stipple
