// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stipple/image/image.h"

namespace stipple {

// An image with 8 bits per channel, 0 (black) to 255 (white), as stored in files. Laid out like Image.
struct ByteImage {
  int width_px = 0;
  int height_px = 0;
  int channel_count = 0;  // 1 grey, 2 grey + alpha, 3 RGB, 4 RGBA
  std::vector<std::uint8_t> values;

  ByteImage() = default;
  ByteImage(int width, int height, int channels)
      : width_px(width),
        height_px(height),
        channel_count(channels),
        values(static_cast<std::size_t>(width) * height * channels) {}

  std::size_t pixel_count() const { return static_cast<std::size_t>(width_px) * height_px; }
  bool has_alpha() const { return channel_count == 2 || channel_count == 4; }
};

// Clamps values to [0, 1] and rounds to nearest; NaN becomes 0.
ByteImage to_bytes(const Image& image);

}  // namespace stipple
