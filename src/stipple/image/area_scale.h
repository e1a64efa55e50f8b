// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/image/byte_image.h"

namespace stipple {

// The part of an image that shows a picture whose size need not be a whole number of the image's pixels.
struct Extent {
  int width_px = 0, height_px = 0;  // of the picture, in its own pixels
  int shrunk_by = 1;  // so many of them, along each axis, make one of the image's; the last may be cut
};

// The picture at any size: each new pixel is the mean over its area, rounded to the nearest. Channels are 1
// or 3, or 4 of which the last says how much a pixel counts: then colours are means weighted by it, so that
// what is hidden does not bleed out. The same bits for any number of threads.
ByteImage area_scaled(ByteImage image, const Extent& picture, int width_px, int height_px);
ByteImage area_scaled(ByteImage image, int width_px, int height_px);

}  // namespace stipple
