// SPDX-License-Identifier: Apache-2.0
#pragma once
// The images of a SOG: lossless WebP, whose four channels are bytes of data and not colours.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stipple {

struct SogImage {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgba;

  SogImage() = default;
  SogImage(int width_, int height_);  // all bytes 0

  std::size_t texels() const { return rgba.size() / 4; }
  std::uint8_t* texel(std::size_t i) { return &rgba[4 * i]; }
  const std::uint8_t* texel(std::size_t i) const { return &rgba[4 * i]; }
};

inline constexpr int kMaxWebpSide = 16383;

std::vector<std::byte> encode_webp(const SogImage& image);

// The sizes that an image may claim. They are checked before memory for it is allocated.
struct SizeCheck {
  std::size_t min_texels, max_texels;
  int width = 0;  // 0: any
};
// `name` is for error messages. Throws Error if the size is not allowed.
SogImage decode_webp(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check);

}  // namespace stipple
