// SPDX-License-Identifier: Apache-2.0
#pragma once
// The header of a PLY file: a list of elements, each a table whose columns are properties.
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
  std::optional<PlyType> length_type = {};  // for lists, whose rows store a length and then the entries
};

struct PlyElement {
  std::string name;
  std::uint64_t count = 0;  // as declared; the file may be shorter
  std::vector<PlyProperty> properties;

  // Minimum size of a row in the file; the exact size if the file is binary and the element has no lists.
  std::size_t min_row_bytes(PlyFormat format) const;
};

struct PlyHeader {
  PlyFormat format = PlyFormat::kAscii;
  std::vector<PlyElement> elements;
  std::vector<std::string> comments;  // in their order, without the keyword
};

// Reads the header, up to the first byte of data. Errors name the line: "garden.ply: line 7 of the header:
// unknown type 'flot'".
PlyHeader read_ply_header(InputFile& file);

}  // namespace stipple
