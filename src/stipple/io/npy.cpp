// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kAlignBytes = 64;                        // alignment of the first value
constexpr std::size_t kMaxDimensions = 64;                     // NumPy's own limit
constexpr std::size_t kMaxHeaderBytes = std::size_t{1} << 16;  // save_npy() writes 118

struct Header {
  std::string type;  // byte order, kind and size in bytes, such as "<f4"
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

// Parses the header, a Python dictionary such as {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& file_name) : text_(text), file_name_(file_name) {}

  Header parse() {
    Header header;
    bool has_type = false, has_order = false, has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = string();
      expect(':');
      if (key == "descr") {
        if (peek() == '[') fail("structured types are not supported");
        header.type = string();
        has_type = true;
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
        has_order = true;
      } else if (key == "shape") {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("the dictionary has an unknown key");
      }
      if (!accept(',') && peek() != '}') fail("the dictionary lacks a comma");
    }
    if (!has_type || !has_order || !has_shape) fail("'descr', 'fortran_order' or 'shape' is missing");
    return header;
  }

 private:
  char peek() {
    const std::size_t skipped = std::min(text_.find_first_not_of(" \t\r\n"), text_.size());
    text_.remove_prefix(skipped);
    return text_.empty() ? '\0' : text_[0];
  }
  bool accept(char c) {
    if (peek() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("the dictionary lacks '{}'", c));
  }
  std::string string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("the dictionary lacks a string");
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) fail("the dictionary has an unterminated string");
    std::string content(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return content;
  }
  bool boolean() {
    peek();
    const bool value = text_.starts_with("True");
    if (!value && !text_.starts_with("False")) fail("'fortran_order' is neither True nor False");
    text_.remove_prefix(value ? 4 : 5);
    return value;
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> sizes;
    expect('(');
    while (!accept(')')) {
      peek();
      std::uint64_t size = 0;
      const auto [stop, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc()) fail("'shape' is not a tuple of sizes");
      text_.remove_prefix(static_cast<std::size_t>(stop - text_.data()));
      if (sizes.size() == kMaxDimensions) fail("'shape' has more than 64 sizes");
      sizes.push_back(size);
      if (!accept(',') && peek() != ')') fail("'shape' is not a tuple of sizes");
    }
    return sizes;
  }
  [[noreturn]] void fail(std::string_view reason) const {
    throw Error(fmt::format("{}: malformed header: {}", file_name_, reason));
  }

  std::string_view text_;
  const std::string& file_name_;
};

Header read_header(InputFile& file) {
  const std::string_view start = as_text(file.take(kMagic.size() + 2));
  if (!start.starts_with(kMagic)) throw Error(fmt::format("{}: not an .npy file", file.name()));
  const auto truncated = [&] {
    return Error(fmt::format("{}: the file is truncated in its header", file.name()));
  };
  if (start.size() < kMagic.size() + 2) throw truncated();
  const int version = static_cast<unsigned char>(start[kMagic.size()]);
  if (version < 1 || version > 3) {
    throw Error(fmt::format("{}: version {} of the format is not supported", file.name(), version));
  }

  const std::size_t size_bytes = version == 1 ? 2 : 4;
  const std::span<const std::byte> size = file.take(size_bytes);
  if (size.size() < size_bytes) throw truncated();
  std::size_t header_bytes = 0;
  for (std::size_t i = 0; i < size_bytes; ++i) header_bytes |= std::to_integer<std::size_t>(size[i]) << 8 * i;
  if (header_bytes > file.remaining_bytes()) throw truncated();
  if (header_bytes > kMaxHeaderBytes)
    throw Error(fmt::format("{}: malformed header: it is longer than 64 KiB", file.name()));
  return HeaderParser(as_text(file.take(header_bytes)), file.name()).parse();
}

// Returns nullopt for an unsupported type.
std::optional<std::size_t> value_bytes(std::string_view type) {
  if (type == "<f4" || type == ">f4") return 4;
  if (type == "<f8" || type == ">f8") return 8;
  if (type == "|u1") return 1;
  return std::nullopt;
}

void convert(std::span<const std::byte> from, std::string_view type, std::span<float> to) {
  const bool swap = (type[0] == '>') != (std::endian::native == std::endian::big);
  for (std::size_t i = 0; i < to.size(); ++i) {
    switch (type[2]) {
      case '4':
        to[i] = load_number<float>(from.data() + 4 * i, swap);
        break;
      case '8':
        to[i] = static_cast<float>(load_number<double>(from.data() + 8 * i, swap));
        break;
      default:
        to[i] = std::to_integer<std::uint8_t>(from[i]);
    }
  }
}

void check_shape(const Header& header, const std::string& file_name) {
  const std::vector<std::uint64_t>& shape = header.shape;
  constexpr std::uint64_t kMaxSide = std::numeric_limits<int>::max();
  const bool flat = shape.size() == 2;
  const bool pixels = shape.size() == 3 && 1 <= shape[2] && shape[2] <= 4;
  if ((!flat && !pixels) || shape[0] > kMaxSide || shape[1] > kMaxSide) {
    throw Error(fmt::format("{}: the shape must be (height, width) or (height, width, 1 to 4), not ({})",
                            file_name, fmt::join(shape, ", ")));
  }
}

}  // namespace

Image load_npy(const std::filesystem::path& path) {
  InputFile file(path);
  const Header header = read_header(file);
  const std::optional<std::size_t> size_bytes = value_bytes(header.type);
  if (!size_bytes) {
    throw Error(fmt::format("{}: type '{}' is not supported; use <f4, >f4, <f8, >f8 or |u1", file.name(),
                            printable(header.type)));
  }
  if (header.fortran_order) throw Error(fmt::format("{}: Fortran order is not supported", file.name()));
  check_shape(header, file.name());

  const std::uint64_t channels = header.shape.size() == 3 ? header.shape[2] : 1;
  const std::uint64_t pixel_count = header.shape[0] * header.shape[1];  // no overflow: 31 bits each
  const std::uint64_t pixel_bytes = channels * *size_bytes;
  if (pixel_count != file.remaining_bytes() / pixel_bytes || file.remaining_bytes() % pixel_bytes != 0) {
    throw Error(fmt::format(
        "{}: the file {}: it has {} bytes of values, but shape ({}) needs {} x {} bytes", file.name(),
        pixel_count > file.remaining_bytes() / pixel_bytes ? "is truncated" : "is too long",
        file.remaining_bytes(), fmt::join(header.shape, ", "), pixel_count * channels, *size_bytes));
  }
  Image image(static_cast<int>(header.shape[1]), static_cast<int>(header.shape[0]),
              static_cast<int>(channels));
  const std::span<const std::byte> bytes = file.take_rest();
  if (bytes.size() != image.values.size() * *size_bytes) {
    throw Error(fmt::format("{}: the file was truncated while it was being read", file.name()));
  }
  convert(bytes, header.type, image.values);
  return image;
}

void save_npy(const Image& image, const std::filesystem::path& path) {
  static_assert(std::endian::native == std::endian::little, "floats are written in native byte order");
  assert(image.values.size() == image.pixel_count() * image.channel_count);
  const std::string shape =
      image.channel_count == 1
          ? fmt::format("({}, {})", image.height_px, image.width_px)
          : fmt::format("({}, {}, {})", image.height_px, image.width_px, image.channel_count);
  std::string text = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': {}, }}", shape);
  const std::size_t before_bytes = kMagic.size() + 2 + 2;  // magic, version, length
  while ((before_bytes + text.size() + 1) % kAlignBytes != 0) text += ' ';
  text += '\n';

  std::string start(kMagic);
  start += {'\1', '\0', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  OutputFile file(path);
  file.write(start + text);
  file.write(std::as_bytes(std::span(image.values)));
  file.commit();
}

}  // namespace stipple
