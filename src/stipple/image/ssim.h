// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "stipple/image/image.h"

namespace stipple {

// Mean structural similarity (math/similarity.glsl) of values clamped to [0, 1], over all channels and all
// windows that lie inside the image. An image smaller than a window is padded with black and has one window
// per pixel. Windows count in proportion to the weights at their centres, or equally if there are none. NaN
// if all these weights are 0. The result is bit-identical for any number of threads.
double ssim(const Image& a, const Image& b, std::span<const std::uint8_t> weight = {});

}  // namespace stipple
