// SPDX-License-Identifier: Apache-2.0
#pragma once
// The light of a pixel from few samples where they agree and from many where they do not.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stipple/core/random.h"
#include "stipple/math/vec.h"

namespace stipple::synth {

// The colour times alpha, then alpha.
using Rgba = std::array<float, 4>;

// The order of the samples: cells x + 4 y of a 4 x 4 grid in a pixel. The first four share no row or column.
constexpr std::array<int, 16> kCells{4, 2, 13, 11, 1, 7, 8, 14, 0, 6, 9, 15, 5, 3, 12, 10};
constexpr std::size_t kFirstSamples = 4;  // per pixel; all 16 are taken only if these differ

inline Rgba mean_of(std::span<const Rgba> values) {
  Rgba mean{};
  for (const Rgba& value : values)
    for (std::size_t c = 0; c < mean.size(); ++c) mean[c] += value[c];
  for (float& channel : mean) channel *= 1 / static_cast<float>(values.size());
  return mean;
}

// Whether no channel varies by more than a fifth of its maximum; the darkest tones may vary more.
inline bool looks_even(std::span<const Rgba> values) {
  constexpr float kContrast = 0.2f;
  for (std::size_t c = 0; c < Rgba().size(); ++c) {
    const auto [low, high] = std::ranges::minmax_element(values, {}, [c](const Rgba& v) { return v[c]; });
    if ((*high)[c] - (*low)[c] > kContrast * ((*high)[c] + 0.1f)) return false;
  }
  return true;
}

// Returns the mean of sample(at_px, start, i) for places in the pixel, where `start` is a random point of the
// unit square that belongs to the pixel and i counts its samples.
template <class Sample>
Rgba pixel_light(int x, int y, const Sample& sample) {
  Random random(static_cast<std::uint64_t>(y), 2 * static_cast<std::uint64_t>(x));  // two numbers per pixel
  const Vec2f start(random.uniform(), random.uniform());
  const auto inside = [](int cell) { return (static_cast<float>(cell) + 0.5f) / 4; };
  std::array<Rgba, kCells.size()> samples;
  const auto take = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i)
      samples[i] = sample(
          Vec2f(static_cast<float>(x) + inside(kCells[i] % 4), static_cast<float>(y) + inside(kCells[i] / 4)),
          start, static_cast<int>(i));
  };
  take(0, kFirstSamples);
  if (looks_even({samples.data(), kFirstSamples})) return mean_of({samples.data(), kFirstSamples});
  take(kFirstSamples, samples.size());
  return mean_of(samples);
}

}  // namespace stipple::synth
