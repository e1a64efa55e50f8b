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

// The same for numbers in little-endian order.
template <class T>
T load_little(const std::byte* from) {
  return load_number<T>(from, std::endian::native != std::endian::little);
}
template <class T>
void store_little(T number, std::byte* to) {
  const T ordered = load_little<T>(reinterpret_cast<const std::byte*>(&number));
  std::memcpy(to, &ordered, sizeof(T));
}

}  // namespace stipple
