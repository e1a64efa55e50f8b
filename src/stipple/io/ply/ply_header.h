// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header of a PLY file: a list of elements, each a table with so many rows of these properties.
// Greg Turk, "The PLY Polygon File Format", 1994.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/io/input_file.h"
#include "stipple/io/text.h"

namespace stipple {

enum class PlyFormat { kAscii, kBinaryLittleEndian, kBinaryBigEndian };
enum class PlyType { kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kFloat32, kFloat64 };

std::size_t size_bytes(PlyType type);

struct PlyProperty {
  std::string name;
  PlyType type;                             // of the number, or of each entry of the list
  std::optional<PlyType> length_type = {};  // of a list: each row holds a length and then so many entries
};

struct PlyElement {
  std::string name;
  std::uint64_t count = 0;  // as claimed: the file may be shorter
  std::vector<PlyProperty> properties;

  // Each row takes at least so much of the file: exactly so much in a binary file without lists.
  std::size_t min_row_bytes(PlyFormat format) const;
};

struct PlyHeader {
  PlyFormat format = PlyFormat::kAscii;
  std::vector<PlyElement> elements;
};

// Reads up to the first byte of data. Errors name the line: "garden.ply: line 7 of the header: unknown type
// 'flot'".
PlyHeader read_ply_header(InputFile& file);

}  // namespace stipple
