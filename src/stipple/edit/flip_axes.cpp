// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/flip_axes.h"

#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 4096;

// The axes in which each function of the basis (math/harmonics.glsl) is odd: its sign changes with theirs.
constexpr int kX = 1, kY = 2, kZ = 4;
constexpr std::array<int, 16> kOddAxes = {0, kY, kZ,           kX, kX | kY, kY | kZ, 0,  kX | kZ,
                                          0, kY, kX | kY | kZ, kY, kZ,      kX,      kZ, kX};

float sign(bool negative) { return negative ? -1.0f : 1.0f; }

}  // namespace

AxisFlip::AxisFlip(bool x, bool y, bool z) : x_(sign(x)), y_(sign(y)), z_(sign(z)) {
  for (std::size_t k = 0; k < sh_.size(); ++k) {
    const auto odd = [&](int axis) { return (kOddAxes[k] & axis) != 0; };
    sh_[k] = (odd(kX) ? x_ : 1) * (odd(kY) ? y_ : 1) * (odd(kZ) ? z_ : 1);
  }
}

void flip_axes(const AxisFlip& flip, Gaussians& gaussians) {
  const auto sh_count = static_cast<std::size_t>(gaussians.sh_count());
  parallel_for(
      gaussians.size(),
      [&](std::size_t i) {
        gaussians.mean[i] = flip.mean(gaussians.mean[i]);
        gaussians.rotation[i] = flip.rotation(gaussians.rotation[i]);
        for (std::size_t k = 1; k < sh_count; ++k) {
          Vec3f& sh = gaussians.sh[i * sh_count + k];
          sh = flip.sh(k, sh);
        }
      },
      kGrain);
}

}  // namespace stipple
