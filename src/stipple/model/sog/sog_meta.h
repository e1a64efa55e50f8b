// SPDX-License-Identifier: Apache-2.0
#pragma once
// meta.json of a SOG, version 1 or 2 (docs/formats.md).
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stipple/model/sog/codebook.h"

namespace stipple {

// What each byte of an image means. The versions differ only in these tables.
using ByteTable = std::array<float, 256>;

struct SogHarmonics {
  std::size_t palette_size = 0;  // 0: as many entries as the image has room for (version 1)
  int degree = 0;                // 0: follows from the width of the image (version 1)
  ByteTable table{};
  std::string palette_file, label_file;
};

struct SogMeta {
  int version = 2;
  std::size_t count = 0;
  bool antialiased = false;               // the file says so
  std::array<double, 3> low{}, high{};    // of the positions, after squeeze_position()
  std::array<std::string, 2> mean_files;  // low bytes, high bytes
  std::string rotation_file, scale_file, color_file;
  std::array<ByteTable, 3> scale{};  // log_scale along each axis
  std::array<ByteTable, 3> color{};  // the coefficient of degree 0 of each channel
  ByteTable logit_opacity{};
  std::optional<SogHarmonics> harmonics;
};

// `name` is for error messages.
SogMeta parse_sog_meta(std::string_view text, const std::string& name);

// What a meta.json of version 2 contains besides constants.
struct SogMetaValues {
  std::size_t count;
  bool antialiased;
  std::array<double, 3> low, high;
  Codebook scale, color;
  std::size_t palette_size;  // 0 if there is no palette
  int degree;
  Codebook harmonics;
};
std::string sog_meta_text(const SogMetaValues& values);

// Positions are stored by their logarithm, so that near ones are more precise than far ones.
double squeeze_position(double x);
double unsqueeze_position(double x);

}  // namespace stipple
