// SPDX-License-Identifier: Apache-2.0
// A tile's list is short (hundreds of entries) and fits in the cache. Two counting passes over the 16 highest
// bits in which its depths differ leave it nearly sorted, and an insertion pass completes the order.
#include "stipple/backend/cpu/shared/sort.h"

#include <algorithm>
#include <array>
#include <bit>

namespace stipple::cpu {

namespace {

// One stable counting pass over 8 bits of (key - lowest) >> shift.
void counting_pass(std::span<const std::uint64_t> from, std::span<std::uint64_t> to, std::uint64_t lowest,
                   int shift) {
  std::array<std::uint32_t, 257> place{};
  auto digit = [&](std::uint64_t key) { return (key - lowest) >> shift & 255; };
  for (std::uint64_t key : from) ++place[digit(key) + 1];
  for (int i = 0; i < 256; ++i) place[i + 1] += place[i];
  for (std::uint64_t key : from) to[place[digit(key)]++] = key;
}

// Returns false if it would take too long: the list is then far from sorted, but still a permutation.
bool insertion_pass(std::span<std::uint64_t> keys) {
  std::size_t moves_left = 8 * keys.size();
  for (std::size_t i = 1; i < keys.size(); ++i) {
    std::uint64_t key = keys[i];
    std::size_t k = i;
    for (; k > 0 && keys[k - 1] > key; --k) {
      keys[k] = keys[k - 1];
      if (--moves_left == 0) {
        keys[k - 1] = key;
        return false;
      }
    }
    keys[k] = key;
  }
  return true;
}

}  // namespace

std::span<const std::uint64_t> sort_by_depth(std::span<const std::uint32_t> depth, SortScratch& scratch) {
  std::size_t n = depth.size();
  if (scratch.a.size() < n) {
    scratch.a.resize(n);
    scratch.b.resize(n);
  }
  std::span<std::uint64_t> a(scratch.a.data(), n), b(scratch.b.data(), n);
  std::uint32_t lowest = ~0u, highest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = static_cast<std::uint64_t>(depth[i]) << 32 | i;
    lowest = std::min(lowest, depth[i]);
    highest = std::max(highest, depth[i]);
  }
  if (n > 32) {
    int shift = 32 + std::max(0, static_cast<int>(std::bit_width(highest - lowest)) - 16);
    std::uint64_t base = static_cast<std::uint64_t>(lowest) << 32;
    counting_pass(a, b, base, shift);
    counting_pass(b, a, base, shift + 8);
  }
  // The index in the low bits makes every key unique, so that even an unstable sort keeps ties in order.
  if (!insertion_pass(a)) std::sort(a.begin(), a.end());
  return a;
}

}  // namespace stipple::cpu
