// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/image/image.h"

namespace stipple {

// A procedural image of a lake at dusk, with smooth gradients, sharp edges, thin lines and fine texture.
Image sample_picture(int width_px, int height_px);

}  // namespace stipple
