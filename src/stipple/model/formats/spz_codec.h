// SPDX-License-Identifier: Apache-2.0
#pragma once
// The numbers in .spz files (docs/formats.md). A file has one block of bytes per field, each with the same
// number of bytes for every Gaussian.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stipple/core/gaussians.h"
#include "stipple/edit/flip_axes.h"

namespace stipple {

enum class SpzField { kMean, kOpacity, kColor, kScale, kRotation, kHarmonics };  // in the order of the blocks
constexpr std::array kSpzFields = {SpzField::kMean,  SpzField::kOpacity,  SpzField::kColor,
                                   SpzField::kScale, SpzField::kRotation, SpzField::kHarmonics};

struct SpzHeader {
  std::uint32_t version = 0;  // 1 to 4
  std::uint32_t count = 0;
  int sh_degree = 0;        // 0 to 4, of which degree 4 is not kept
  int fractional_bits = 0;  // of the means; up to 30
  bool antialiased = false;
  bool has_extensions = false;
};

std::size_t spz_bytes_per_gaussian(const SpzHeader& header, SpzField field);
std::uint64_t spz_bytes_per_gaussian(const SpzHeader& header);

// Decodes the field of the Gaussians from `begin` on, in the frame of the file.
void decode_spz(const SpzHeader& header, SpzField field, std::span<const std::byte> bytes, std::size_t begin,
                Gaussians& gaussians);

// Encodes the field of the Gaussians from `begin` on, as many as the bytes have room for, after flipping
// them. Writes versions 2 to 4.
void encode_spz(const SpzHeader& header, SpzField field, const Gaussians& gaussians, const AxisFlip& flip,
                std::size_t begin, std::span<std::byte> bytes);

// The bits after the binary point for the means of this model: 12 as usual if its means then fit, or fewer. A
// thousandth of the Gaussians may lie outside; they are moved to the border, since all would be less precise
// for them.
int spz_fractional_bits(const Gaussians& gaussians);

}  // namespace stipple
