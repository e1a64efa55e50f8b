// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stipple {

// A photo to train on: 8 bits per channel, colours as in the file.
struct Photo {
  int width_px = 0, height_px = 0;
  std::vector<std::uint8_t> rgb;     // interleaved, rows top to bottom
  std::vector<std::uint8_t> weight;  // per pixel: 255 counts fully, 0 not at all; empty if all count fully
  // Of a cut-out object, per pixel; the colours are then multiplied by it. Empty if the photo is opaque.
  std::vector<std::uint8_t> alpha = {};

  // A pixel's colour, not multiplied by alpha; undefined where alpha is 0.
  std::array<std::uint8_t, 3> color_at(std::size_t pixel) const {
    std::array<std::uint8_t, 3> color{rgb[3 * pixel], rgb[3 * pixel + 1], rgb[3 * pixel + 2]};
    const int a = alpha.empty() ? 255 : alpha[pixel];
    if (a > 0 && a < 255)
      for (std::uint8_t& c : color) c = static_cast<std::uint8_t>(std::min(255, (c * 255 + a / 2) / a));
    return color;
  }

  std::size_t pixel_count() const { return static_cast<std::size_t>(width_px) * height_px; }
  std::size_t size_bytes() const { return rgb.size() + weight.size() + alpha.size(); }
};

}  // namespace stipple
