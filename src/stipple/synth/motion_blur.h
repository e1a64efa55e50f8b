// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/image/image.h"

namespace stipple::synth {

// What a camera records that moves steadily along a straight line while the shutter is open. `sigma_px` is
// the standard deviation of its way and the direction; the way is sqrt(12) times as long. What lies outside
// the image is taken to look like its edge.
Image motion_blur(const Image& image, Vec2f sigma_px);

}  // namespace stipple::synth
