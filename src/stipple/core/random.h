// SPDX-License-Identifier: Apache-2.0
#pragma once
// Random numbers that are the same on every platform, with every compiler and for any number of threads. Each
// is a hash of (seed, counter), so a sequence can be entered anywhere and its state is two integers.
#include <cmath>
#include <cstdint>

namespace stipple {

// Steele et al., "Fast splittable pseudorandom number generators", 2014: the finaliser of SplitMix64.
inline std::uint64_t hash_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t counter = 0)
      : seed_(hash_bits(seed + kStep)), counter_(counter) {}

  std::uint64_t bits() { return hash_bits(seed_ + ++counter_ * kStep); }

  float uniform() { return static_cast<float>(bits() >> 40) * 0x1p-24f; }  // [0, 1)
  float uniform(float low, float high) { return low + (high - low) * uniform(); }

  std::uint64_t below(std::uint64_t n) {  // 0 .. n - 1; the bias is negligible if n is far below 2^64
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits()) * n) >> 64);
  }

  // Standard normal by Box and Muller. In double, so that maths libraries that differ in the last bit still
  // agree after rounding to float.
  float normal() {
    double radius = std::sqrt(-2 * std::log((static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53));
    double angle = 6.283185307179586 * (static_cast<double>(bits() >> 11) * 0x1p-53);
    return static_cast<float>(radius * std::cos(angle));
  }

  void skip(std::uint64_t count) { counter_ += count; }  // as if bits() had been called `count` times
  std::uint64_t counter() const { return counter_; }

 private:
  static constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15ull;  // 2^64 / golden ratio
  std::uint64_t seed_;
  std::uint64_t counter_;
};

}  // namespace stipple
