// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "stipple/image/image.h"

namespace stipple {

// Structural similarity (math/similarity.glsl) of values clamped to [0, 1], the mean over channels and over
// the windows that lie wholly inside; in a picture smaller than a window, over all of them, with black around
// it. A window counts by the weight at its centre, in any unit; no weights: all alike. Not a number when none
// counts. The same bits for any number of threads.
double ssim(const Image& a, const Image& b, std::span<const std::uint8_t> weight = {});

}  // namespace stipple
