// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/ply/ply_header.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "stipple/core/error.h"

namespace stipple {

namespace {

// Also limits the length of a line and the number of properties. A model of degree 3 needs 1.5 kB.
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 20;

class HeaderReader {
 public:
  explicit HeaderReader(InputFile& file) : file_(file) {}
  PlyHeader read();

 private:
  std::string_view next_line();
  void read_format(std::string_view words);
  void read_element(std::string_view words);
  void read_property(std::string_view words);
  PlyType read_type(std::string_view& words) const;
  std::string read_name(std::string_view words) const;
  [[noreturn]] void fail(std::string_view reason) const;

  InputFile& file_;
  PlyHeader header_;
  int line_number_ = 0;  // the first line is 1
  std::size_t budget_bytes_ = kMaxHeaderBytes;
  bool has_format_ = false;
};

PlyHeader HeaderReader::read() {
  while (true) {
    std::string_view words = next_line();
    const std::string_view keyword = take_word(words);
    if (keyword == "end_header") break;
    if (keyword.empty() || keyword == "obj_info") continue;
    if (keyword == "comment") {
      header_.comments.emplace_back(words);
    } else if (keyword == "format") {
      read_format(words);
    } else if (keyword == "element") {
      read_element(words);
    } else if (keyword == "property") {
      read_property(words);
    } else if (line_number_ > 1 || keyword != "ply") {
      fail(fmt::format("unknown keyword '{}'", printable(keyword)));
    }
  }
  if (!has_format_) fail("the header has no format line");
  return std::move(header_);
}

std::string_view HeaderReader::next_line() {
  ++line_number_;
  const std::uint64_t before = file_.remaining_bytes();
  const std::optional<std::string_view> line = file_.take_line(budget_bytes_);
  if (line_number_ == 1 && (!line || *line != "ply")) {
    throw Error(fmt::format("{}: not a PLY file: its first line is not 'ply'", file_.name()));
  }
  if (!line) fail(before > budget_bytes_ ? "the header is longer than 1 MiB" : "the file is truncated");
  budget_bytes_ -= static_cast<std::size_t>(before - file_.remaining_bytes());
  return *line;
}

void HeaderReader::read_format(std::string_view words) {
  if (has_format_) fail("the format is declared twice");
  has_format_ = true;
  const std::string_view format = take_word(words);
  if (format == "ascii") {
    header_.format = PlyFormat::kAscii;
  } else if (format == "binary_little_endian") {
    header_.format = PlyFormat::kBinaryLittleEndian;
  } else if (format == "binary_big_endian") {
    header_.format = PlyFormat::kBinaryBigEndian;
  } else {
    fail(fmt::format("unknown format '{}'", printable(format)));
  }
  const std::string_view version = take_word(words);
  if (version != "1.0") fail(fmt::format("unknown version '{}'", printable(version)));
}

void HeaderReader::read_element(std::string_view words) {
  PlyElement element;
  element.name = take_word(words);
  if (element.name.empty()) fail("the element has no name");
  const std::string_view count = take_word(words);
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), element.count);
  const bool whole = error == std::errc() && end == count.data() + count.size();
  if (!whole || !take_word(words).empty()) fail(fmt::format("'{}' is not a valid count", printable(count)));
  header_.elements.push_back(std::move(element));
}

void HeaderReader::read_property(std::string_view words) {
  if (header_.elements.empty()) fail("a property is declared before the first element");
  PlyProperty property{};
  std::string_view after_first = words;
  if (take_word(after_first) == "list") {
    words = after_first;
    property.length_type = read_type(words);
    const bool whole = *property.length_type < PlyType::kFloat32;
    if (!whole) fail("the length of a list must have an integer type");
  }
  property.type = read_type(words);
  property.name = read_name(words);
  header_.elements.back().properties.push_back(std::move(property));
}

PlyType HeaderReader::read_type(std::string_view& words) const {
  const std::string_view word = take_word(words);
  if (word == "float" || word == "float32") return PlyType::kFloat32;
  if (word == "double" || word == "float64") return PlyType::kFloat64;
  if (word == "char" || word == "int8") return PlyType::kInt8;
  if (word == "uchar" || word == "uint8") return PlyType::kUint8;
  if (word == "short" || word == "int16") return PlyType::kInt16;
  if (word == "ushort" || word == "uint16") return PlyType::kUint16;
  if (word == "int" || word == "int32") return PlyType::kInt32;
  if (word == "uint" || word == "uint32") return PlyType::kUint32;
  fail(fmt::format("unknown type '{}'", printable(word)));
}

std::string HeaderReader::read_name(std::string_view words) const {
  const std::string_view name = take_word(words);
  if (name.empty()) fail("the property has no name");
  const std::string_view extra = take_word(words);
  if (!extra.empty()) fail(fmt::format("unexpected '{}' after the property name", printable(extra)));
  return std::string(name);
}

void HeaderReader::fail(std::string_view reason) const {
  throw Error(fmt::format("{}: line {} of the header: {}", file_.name(), line_number_, reason));
}

}  // namespace

std::size_t size_bytes(PlyType type) {
  switch (type) {
    case PlyType::kInt8:
    case PlyType::kUint8:
      return 1;
    case PlyType::kInt16:
    case PlyType::kUint16:
      return 2;
    case PlyType::kFloat64:
      return 8;
    default:
      return 4;
  }
}

std::size_t PlyElement::min_row_bytes(PlyFormat format) const {
  if (format == PlyFormat::kAscii) return 2 * properties.size();  // a digit and the following white space
  std::size_t bytes = 0;
  for (const PlyProperty& property : properties) {
    bytes += size_bytes(property.length_type.value_or(property.type));
  }
  return bytes;
}

PlyHeader read_ply_header(InputFile& file) { return HeaderReader(file).read(); }

}  // namespace stipple
