// SPDX-License-Identifier: Apache-2.0
#pragma once
// Builds PLY files for tests, in every format and with arbitrary columns. Shares no code with the reader.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "stipple/core/gaussians.h"
#include "stipple/io/ply/ply.h"
#include "tests/helpers/test_folder.h"

namespace stipple {

struct Column {
  std::string type;  // as in the header: "float", or "list uchar int"
  std::string name;
};

inline const std::vector<std::string> kFormats = {"ascii", "binary_little_endian", "binary_big_endian"};

// All values are integers from 0 to 99, which every type can represent, and adjacent values differ.
inline Gaussians whole_number_gaussians(std::size_t count, int sh_degree) {
  Gaussians gaussians = make_gaussians(count, sh_degree);
  int next = 0;
  const auto number = [&next] { return static_cast<float>(next++ * 37 % 100); };
  for (std::size_t i = 0; i < count; ++i) {
    gaussians.mean[i] = {number(), number(), number()};
    gaussians.log_scale[i] = {number(), number(), number()};
    gaussians.rotation[i] = {number(), number(), number(), number()};
    gaussians.logit_opacity[i] = number();
  }
  for (Vec3f& sh : gaussians.sh) sh = {number(), number(), number()};
  return gaussians;
}

inline bool same_bits(const Gaussians& a, const Gaussians& b) {
  bool same = a.sh_degree == b.sh_degree;
  for_each_parameter(
      [&](int, const auto& x, const auto& y) {
        same = same && x.size() == y.size() &&
               (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0);
      },
      a, b);
  return same;
}

// Returns the value that a property of this name has by convention; 77 for unknown names.
inline float value_of(const Gaussians& g, std::size_t i, const std::string& name) {
  const int index = name.find('_') == std::string::npos ? 0 : std::atoi(name.c_str() + name.rfind('_') + 1);
  const Vec3f* sh = &g.sh[i * static_cast<std::size_t>(g.sh_count())];
  const int per_channel = g.sh_count() - 1;
  if (name == "x") return g.mean[i].x;
  if (name == "y") return g.mean[i].y;
  if (name == "z") return g.mean[i].z;
  if (name == "opacity") return g.logit_opacity[i];
  if (name.starts_with("f_dc_")) return sh[0][index];
  if (name.starts_with("f_rest_") && per_channel > 0) return sh[1 + index % per_channel][index / per_channel];
  if (name.starts_with("scale_")) return g.log_scale[i][index];
  if (name.starts_with("rot_")) return (&g.rotation[i].x)[index];
  return 77;
}

inline std::vector<Column> usual_columns(int sh_degree, const std::string& type, bool normals = true) {
  std::vector<std::string> names = {"x", "y", "z"};
  if (normals) names.insert(names.end(), {"nx", "ny", "nz"});
  names.insert(names.end(), {"f_dc_0", "f_dc_1", "f_dc_2"});
  for (int i = 0; i < 3 * ((sh_degree + 1) * (sh_degree + 1) - 1); ++i) {
    names.push_back(fmt::format("f_rest_{}", i));
  }
  names.insert(names.end(), {"opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"});
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back({type, name});
  return columns;
}

template <class T>
std::string encode_as(double value, const std::string& format) {
  if (format == "ascii") return fmt::format("{} ", static_cast<T>(value) + 0);  // + 0: char to int
  const T typed = static_cast<T>(value);
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &typed, sizeof(T));
  const bool big_endian = format == "binary_big_endian";
  if (big_endian != (std::endian::native == std::endian::big)) std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

inline std::string encode(double value, const std::string& type, const std::string& format) {
  if (type == "char" || type == "int8") return encode_as<std::int8_t>(value, format);
  if (type == "uchar" || type == "uint8") return encode_as<std::uint8_t>(value, format);
  if (type == "short" || type == "int16") return encode_as<std::int16_t>(value, format);
  if (type == "ushort" || type == "uint16") return encode_as<std::uint16_t>(value, format);
  if (type == "int" || type == "int32") return encode_as<std::int32_t>(value, format);
  if (type == "uint" || type == "uint32") return encode_as<std::uint32_t>(value, format);
  if (type == "float" || type == "float32") return encode_as<float>(value, format);
  return encode_as<double>(value, format);
}

inline std::string encode_column(const Column& column, double value, std::size_t row,
                                 const std::string& format) {
  if (!column.type.starts_with("list ")) return encode(value, column.type, format);
  const std::size_t space = column.type.find(' ', 5);
  const std::size_t length = row % 3;  // includes empty lists
  std::string bytes = encode(static_cast<double>(length), column.type.substr(5, space - 5), format);
  for (std::size_t i = 0; i < length; ++i) bytes += encode(50, column.type.substr(space + 1), format);
  return bytes;
}

inline std::string element_header(const std::string& name, std::size_t count,
                                  const std::vector<Column>& columns) {
  std::string text = fmt::format("element {} {}\n", name, count);
  for (const Column& column : columns) text += fmt::format("property {} {}\n", column.type, column.name);
  return text;
}

inline std::string rows(const Gaussians& gaussians, const std::vector<Column>& columns,
                        const std::string& format) {
  std::string bytes;
  for (std::size_t i = 0; i < gaussians.size(); ++i) {
    for (const Column& column : columns) {
      bytes += encode_column(column, value_of(gaussians, i, column.name), i, format);
    }
    if (format == "ascii") bytes.back() = '\n';
  }
  return bytes;
}

inline std::string ply_file(const Gaussians& gaussians, const std::vector<Column>& columns,
                            const std::string& format) {
  return "ply\nformat " + format + " 1.0\n" + element_header("vertex", gaussians.size(), columns) +
         "end_header\n" + rows(gaussians, columns, format);
}

inline Gaussians load_bytes(std::string_view content) {
  TestFolder folder;
  return load_ply(folder.write("garden.ply", content));
}

// Returns the error message for a file with this content, without the path.
inline std::string complaint(std::string_view content) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("garden.ply", content);
  const std::string message = error_of([&] { load_ply(path); });
  const std::string prefix = path.string() + ": ";
  EXPECT_TRUE(message.starts_with(prefix)) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message.substr(std::min(prefix.size(), message.size()));
}

}  // namespace stipple
