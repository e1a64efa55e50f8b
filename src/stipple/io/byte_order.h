// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace stipple {

// The number whose bytes begin at `from`, which need not be aligned; `swap` when they are in the other order
// than this machine's. All bits are kept, a NaN's too.
template <class T>
T load_number(const std::byte* from, bool swap) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  if (swap) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<T>(bytes);
}

}  // namespace stipple
