// SPDX-License-Identifier: Apache-2.0
#include "stipple/compress/effect.h"

#include <algorithm>
#include <numeric>

#include "stipple/clean/blend_weight.h"
#include "stipple/core/parallel.h"
#include "stipple/core/random.h"

namespace stipple {

namespace {

constexpr std::uint64_t kSignSamples = 2;  // per camera; the sum over the cameras averages the rest
constexpr std::size_t kGrain = 1 << 14;

// The square of a sum with random signs is on average the sum of the squares.
std::vector<float> random_signs(std::size_t count, std::uint64_t seed) {
  std::vector<float> signs(count);
  parallel_chunks(count, kGrain, [&](std::size_t, std::size_t begin, std::size_t end) {
    Random random(seed, begin);
    for (std::size_t i = begin; i < end; ++i) signs[i] = random.uniform() < 0.5f ? -1.0f : 1.0f;
  });
  return signs;
}

}  // namespace

std::vector<float> picture_effects(Backend& backend, const Gaussians& gaussians,
                                   std::span<const Camera> cameras, const RenderOptions& options,
                                   const std::function<void()>& progress) {
  std::vector<float> effects(gaussians.size(), 0.0f);
  const DeviceGaussians model = upload(backend, gaussians);
  Pass pass;
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    const View view{cameras[c], options};
    forward(backend, model, {}, view, pass);
    const std::vector<std::uint32_t> shown = gaussians_of_rows(pass.projection.visible.download(backend));
    for (std::uint64_t sample = 0; sample < kSignSamples; ++sample) {
      const std::vector<float> signs = random_signs(pass.frame.color.size(), kSignSamples * c + sample);
      const std::vector<float> sums = removal_changes(backend, view, signs, pass);
      for (std::size_t row = 0; row < sums.size(); ++row) {
        const float squared = sums[row] * sums[row] / kSignSamples;
        if (squared > 0) effects[shown[row]] += squared;  // not NaN, of which there is no order
      }
    }
    if (progress) progress();
  }
  return effects;
}

std::vector<std::uint32_t> order_of_effects(std::span<const float> effects) {
  std::vector<std::uint32_t> order(effects.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return effects[a] > effects[b]; });
  return order;
}

}  // namespace stipple
