// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/math/vec.h"

namespace stipple {

// Rows top to bottom, pixels left to right, channels interleaved: values[(y * width + x) * channels + c].
// Colours are sRGB-encoded, from 0 (black) to 1 (white); rendered images may exceed that range.
struct Image {
  int width_px = 0;
  int height_px = 0;
  int channel_count = 0;  // 1 grey or a scalar, 2 grey + alpha, 3 RGB, 4 RGBA
  std::vector<float> values;

  Image() = default;
  Image(int width, int height, int channels)
      : width_px(width),
        height_px(height),
        channel_count(channels),
        values(static_cast<std::size_t>(width) * height * channels, 0.0f) {}

  std::size_t pixel_count() const { return static_cast<std::size_t>(width_px) * height_px; }
  float& at(int x, int y, int c) { return values[index(x, y, c)]; }
  const float& at(int x, int y, int c) const { return values[index(x, y, c)]; }

 private:
  std::size_t index(int x, int y, int c) const {
    assert(0 <= x && x < width_px && 0 <= y && y < height_px && 0 <= c && c < channel_count);
    return (static_cast<std::size_t>(y) * width_px + x) * channel_count + c;
  }
};

// Converts any image to RGB: grey is repeated, and alpha lets the background show through.
Image to_rgb(const Image& image, Vec3f background = {0, 0, 0});

// Shrinks so that neither side is longer than max_side_px, averaging over each new pixel's area. An image
// that is small enough is returned unchanged.
Image shrink_to(const Image& image, int max_side_px);

// Peak signal-to-noise ratio, in dB, of values clamped to [0, 1]; infinite if they are equal. Pixels count in
// proportion to their weights, or equally if there are none. NaN if all weights are 0.
double psnr(const Image& a, const Image& b, std::span<const std::uint8_t> weight = {});

}  // namespace stipple
