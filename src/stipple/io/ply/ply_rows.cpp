// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/ply/ply_rows.h"

#include <fmt/format.h>

#include <bit>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/byte_order.h"

namespace stipple {

namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;  // far more than any real row needs

// The current position in the file, for error messages.
struct Place {
  const InputFile& file;
  const PlyElement& element;
  std::uint64_t row;

  [[noreturn]] void fail(std::string_view reason) const {
    throw Error(fmt::format("{}: {} {}: {}", file.name(), printable(element.name), row, reason));
  }
};

float load_float(const std::byte* from, PlyType type, bool swap) {
  switch (type) {
    case PlyType::kInt8:
      return load_number<std::int8_t>(from, swap);
    case PlyType::kUint8:
      return load_number<std::uint8_t>(from, swap);
    case PlyType::kInt16:
      return load_number<std::int16_t>(from, swap);
    case PlyType::kUint16:
      return load_number<std::uint16_t>(from, swap);
    case PlyType::kInt32:
      return static_cast<float>(load_number<std::int32_t>(from, swap));
    case PlyType::kUint32:
      return static_cast<float>(load_number<std::uint32_t>(from, swap));
    case PlyType::kFloat64:
      return static_cast<float>(load_number<double>(from, swap));
    default:
      return load_number<float>(from, swap);  // never through double, which would alter a signalling NaN
  }
}

std::int64_t load_length(const std::byte* from, PlyType type, bool swap) {
  switch (type) {
    case PlyType::kInt8:
      return load_number<std::int8_t>(from, swap);
    case PlyType::kUint8:
      return load_number<std::uint8_t>(from, swap);
    case PlyType::kInt16:
      return load_number<std::int16_t>(from, swap);
    case PlyType::kUint16:
      return load_number<std::uint16_t>(from, swap);
    case PlyType::kInt32:
      return load_number<std::int32_t>(from, swap);
    default:
      return load_number<std::uint32_t>(from, swap);
  }
}

// A binary row is a sequence of blocks. A block has numbers at fixed offsets and ends with a list, whose
// length determines where the next block starts. A row without lists is a single block.
struct Block {
  struct Field {
    std::size_t offset;
    int slot;
    PlyType type;
  };
  std::size_t bytes = 0;
  std::vector<Field> fields;  // those to be read; others are skipped
  const PlyProperty* list = nullptr;
};

// An empty slot_from_property means that all properties are skipped.
std::vector<Block> find_blocks(const PlyElement& element, std::span<const int> slot_from_property) {
  std::vector<Block> blocks(1);
  for (std::size_t i = 0; i < element.properties.size(); ++i) {
    const PlyProperty& property = element.properties[i];
    Block& block = blocks.back();
    if (property.length_type) {
      block.list = &property;
      blocks.emplace_back();
      continue;
    }
    const int slot = slot_from_property.empty() ? -1 : slot_from_property[i];
    if (slot >= 0) block.fields.push_back({block.bytes, slot, property.type});
    block.bytes += size_bytes(property.type);
  }
  return blocks;
}

void skip_list(InputFile& file, const PlyProperty& list, bool swap, const Place& place) {
  const std::size_t length_bytes = size_bytes(*list.length_type);
  const std::span<const std::byte> bytes = file.take(length_bytes);
  if (bytes.size() < length_bytes) place.fail("the file is truncated");
  const std::int64_t length = load_length(bytes.data(), *list.length_type, swap);
  if (length < 0) place.fail(fmt::format("list '{}' has a length of {}", printable(list.name), length));
  // This cannot overflow: a list has fewer than 2^32 entries of at most 8 bytes.
  const std::uint64_t list_bytes = static_cast<std::uint64_t>(length) * size_bytes(list.type);
  if (list_bytes > file.remaining_bytes()) place.fail("the file is truncated");
  file.skip(list_bytes);
}

void read_binary_row(InputFile& file, const std::vector<Block>& blocks, bool swap, const Place& place,
                     PlyRow& row) {
  for (const Block& block : blocks) {
    const std::span<const std::byte> bytes = file.take(block.bytes);
    if (bytes.size() < block.bytes) place.fail("the file is truncated");
    for (const Block::Field& field : block.fields) {
      row[field.slot] = load_float(bytes.data() + field.offset, field.type, swap);
    }
    if (block.list) skip_list(file, *block.list, swap, place);
  }
}

bool needs_swap(PlyFormat format) {
  return (format == PlyFormat::kBinaryLittleEndian) != (std::endian::native == std::endian::little);
}

// Returns the next line that is not blank. The line ending is required: without it, a number cut in two by
// the end of the file would be read as a shorter one.
std::string_view take_text_row(InputFile& file, const Place& place) {
  while (true) {
    const std::optional<std::string_view> line = file.take_line(kMaxLineBytes);
    if (!line) {
      place.fail(file.remaining_bytes() > kMaxLineBytes ? "the line is longer than 16 MiB"
                                                        : "the file is truncated");
    }
    std::string_view rest = *line;
    if (!take_word(rest).empty()) return *line;
  }
}

std::string_view take_value(std::string_view& line, const Place& place) {
  const std::string_view word = take_word(line);
  if (word.empty()) {
    place.fail(fmt::format("the line has too few values for {} properties", place.element.properties.size()));
  }
  return word;
}

float to_number(std::string_view word, const Place& place) {
  float value = 0;
  if (!parse_number(word, value)) place.fail(fmt::format("'{}' is not a number", printable(word)));
  return value;
}

void read_text_row(std::string_view line, std::span<const int> slot_from_property, const Place& place,
                   PlyRow& row) {
  for (std::size_t i = 0; i < slot_from_property.size(); ++i) {
    const std::string_view word = take_value(line, place);
    const int slot = slot_from_property[i];
    if (slot >= 0) row[slot] = to_number(word, place);
    if (!place.element.properties[i].length_type) continue;
    std::uint32_t length = 0;
    if (!parse_whole(word, length)) {
      place.fail(fmt::format("'{}' is not a valid list length", printable(word)));
    }
    for (std::uint32_t entry = 0; entry < length; ++entry) take_value(line, place);
  }
  if (!take_word(line).empty()) {
    place.fail(fmt::format("the line has too many values for {} properties", slot_from_property.size()));
  }
}

}  // namespace

void read_ply_rows(InputFile& file, const PlyElement& vertex, PlyFormat format,
                   std::span<const int> slot_from_property, PlyRow row,
                   const std::function<void(std::size_t, const PlyRow&)>& store) {
  const std::vector<Block> blocks = find_blocks(vertex, slot_from_property);
  const bool swap = needs_swap(format);
  for (Place place{file, vertex, 0}; place.row < vertex.count; ++place.row) {
    if (format == PlyFormat::kAscii) {
      read_text_row(take_text_row(file, place), slot_from_property, place, row);
    } else {
      read_binary_row(file, blocks, swap, place, row);
    }
    store(static_cast<std::size_t>(place.row), row);
  }
}

void skip_ply_rows(InputFile& file, const PlyElement& element, PlyFormat format) {
  if (element.properties.empty()) return;  // such rows take no space, however many are declared
  const std::vector<Block> blocks = find_blocks(element, {});
  Place place{file, element, 0};
  if (format != PlyFormat::kAscii && blocks.size() == 1) {
    place.row = file.remaining_bytes() / blocks[0].bytes;
    if (place.row < element.count) place.fail("the file is truncated");
    return file.skip(element.count * blocks[0].bytes);
  }
  PlyRow unused;
  for (; place.row < element.count; ++place.row) {
    if (format == PlyFormat::kAscii) {
      take_text_row(file, place);
    } else {
      read_binary_row(file, blocks, needs_swap(format), place, unused);
    }
  }
}

bool another_ply_row_follows(InputFile& file, const PlyElement& element, PlyFormat format) {
  if (format != PlyFormat::kAscii) return file.remaining_bytes() >= element.min_row_bytes(format);
  while (const std::optional<std::string_view> line = file.take_line(kMaxLineBytes)) {
    std::string_view rest = *line;
    if (!take_word(rest).empty()) return true;
  }
  return file.remaining_bytes() > kMaxLineBytes;
}

}  // namespace stipple
