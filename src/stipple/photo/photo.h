// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
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

  std::size_t pixel_count() const { return static_cast<std::size_t>(width_px) * height_px; }
  std::size_t size_bytes() const { return rgb.size() + weight.size() + alpha.size(); }
};

}  // namespace stipple
