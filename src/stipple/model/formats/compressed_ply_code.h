// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a compressed .ply file packs Gaussians into bits.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "stipple/core/gaussians.h"
#include "stipple/model/formats/quantise.h"

namespace stipple::compressed_ply {

inline constexpr std::size_t kChunkSize = 256;  // Gaussians; the last chunk may have fewer

// What the numbers of the Gaussians in a chunk are relative to.
struct Bounds {
  Vec3f low{0, 0, 0}, high{0, 0, 0};
};
struct Chunk {
  Bounds position, log_scale;
  Bounds color{{0, 0, 0}, {1, 1, 1}};  // of the coefficients of degree 0, see color_from_base()
};

// Their names in a file, in the order of the members above. Old files end after the first 12.
inline constexpr std::array<std::string_view, 18> kChunkNames = {
    "min_x",       "min_y",       "min_z",        //
    "max_x",       "max_y",       "max_z",        //
    "min_scale_x", "min_scale_y", "min_scale_z",  //
    "max_scale_x", "max_scale_y", "max_scale_z",  //
    "min_r",       "min_g",       "min_b",        //
    "max_r",       "max_g",       "max_b",
};
inline constexpr std::size_t kOldChunkNames = 12;

struct Packed {
  std::uint32_t position, rotation, scale, color;
};
inline constexpr std::array<std::string_view, 4> kPackedNames = {"packed_position", "packed_rotation",
                                                                 "packed_scale", "packed_color"};

// The bounds of all numbers that are finite.
Bounds position_bounds(const Gaussians& gaussians, std::span<const std::uint32_t> members);
Chunk bounds_of(const Gaussians& gaussians, std::span<const std::uint32_t> members);

std::uint32_t pack_position(Vec3f position, const Bounds& bounds);
Vec3f unpack_position(std::uint32_t bits, const Bounds& bounds);
Packed pack(const Gaussians& gaussians, std::size_t i, const Chunk& chunk);
void unpack(const Packed& packed, const Chunk& chunk, std::size_t i, Gaussians& gaussians);

// Coefficients of degree 1 and above: -4 to 4 in 256 steps, of which the outermost stand for -4 and 4.
// Without branches, for the sake of vectors of 45 of them.
inline std::uint8_t pack_harmonic(float sh) {
  const float field = std::isnan(sh) ? 128.0f : std::min(std::max(sh * 32 + 128, 0.0f), 255.0f);
  return static_cast<std::uint8_t>(static_cast<int>(field));
}
inline float unpack_harmonic(std::uint8_t byte) {
  if (byte == 0) return -4;
  if (byte == 255) return 4;
  return ((static_cast<float>(byte) + 0.5f) / 256 - 0.5f) * 8;
}

}  // namespace stipple::compressed_ply
