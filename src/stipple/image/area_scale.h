// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/image/byte_image.h"

namespace stipple {

// The original of an image that was decoded at a reduced size. If its size is not a multiple of shrunk_by,
// the last column or row of the image extends beyond it.
struct Extent {
  int width_px = 0, height_px = 0;  // of the original, in its own pixels
  int shrunk_by = 1;                // original pixels per image pixel, along each axis
};

// Scales the original to any size: each new pixel is the mean over its area, rounded to nearest. Images have
// 1, 3 or 4 channels. A fourth channel is a weight: colours are then weighted means, so that hidden pixels do
// not bleed out. The result is bit-identical for any number of threads.
ByteImage area_scaled(ByteImage image, const Extent& original, int width_px, int height_px);
ByteImage area_scaled(ByteImage image, int width_px, int height_px);

}  // namespace stipple
