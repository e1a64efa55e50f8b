// SPDX-License-Identifier: Apache-2.0
#pragma once
// Exif orientations: the value of the tag, from 1 (upright) to 8.
#include <algorithm>
#include <cassert>
#include <cstddef>

namespace stipple {

// Returns whether turning the image upright swaps its width and height.
inline bool swaps_axes(int orientation) { return orientation >= 5; }

// Returns the orientation that undoes the given one.
inline int inverse_orientation(int orientation) {
  return orientation == 6 ? 8 : orientation == 8 ? 6 : orientation;
}

// Turns a stored image, an Image or a ByteImage, upright.
template <class Pixels>
Pixels turned_upright(Pixels image, int orientation) {
  assert(1 <= orientation && orientation <= 8);
  if (orientation == 1) return image;
  const bool swap_axes = swaps_axes(orientation);
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const int width = image.width_px, height = image.height_px, channels = image.channel_count;
  Pixels upright(swap_axes ? height : width, swap_axes ? width : height, channels);
  auto to = upright.values.begin();
  for (int y = 0; y < upright.height_px; ++y) {
    for (int x = 0; x < upright.width_px; ++x) {
      const int stored_x = swap_axes ? y : x, stored_y = swap_axes ? x : y;
      const int from_x = flip_x ? width - 1 - stored_x : stored_x;
      const int from_y = flip_y ? height - 1 - stored_y : stored_y;
      const std::size_t from = (static_cast<std::size_t>(from_y) * width + from_x) * channels;
      for (int c = 0; c < channels; ++c) *to++ = image.values[from + c];
    }
  }
  return upright;
}

}  // namespace stipple
