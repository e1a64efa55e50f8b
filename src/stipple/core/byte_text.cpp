// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/byte_text.h"

#include <cstddef>
#include <cstdint>

namespace stipple {

namespace {

constexpr std::uint32_t kFirst = 0x10ff80, kLast = 0x10ffff;  // stand for the bytes 0x80 to 0xff

struct Character {
  std::uint32_t code = 0;
  std::size_t length = 0;  // in bytes; 0 if there is no valid character
};

// The character at the start of the text. Overlong forms, surrogates and codes beyond Unicode are not valid.
Character first_character(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  std::uint32_t code = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (at(i) & 0x3f);
  }
  constexpr std::uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > kLast || (0xd800 <= code && code <= 0xdfff)) return {};
  return {code, length};
}

bool stands_for_byte(const Character& c) { return c.length > 0 && kFirst <= c.code; }

void append_stand_in(unsigned char byte, std::string& to) {
  const std::uint32_t code = kFirst + (byte - 0x80u);
  to += static_cast<char>(0xf0 | code >> 18);
  for (const int shift : {12, 6, 0}) to += static_cast<char>(0x80 | (code >> shift & 0x3f));
}

}  // namespace

std::string utf8_from_bytes(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Character c = first_character(bytes);
    const bool is_kept = c.length > 0 && !stands_for_byte(c);  // a character that has a meaning here is bytes
    const std::size_t length = is_kept ? c.length : 1;
    if (is_kept)
      text += bytes.substr(0, length);
    else
      append_stand_in(static_cast<unsigned char>(bytes[0]), text);
    bytes.remove_prefix(length);
  }
  return text;
}

std::string bytes_from_utf8(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const Character c = first_character(text);
    const std::size_t length = c.length > 0 ? c.length : 1;
    if (stands_for_byte(c))
      bytes += static_cast<char>(0x80 + (c.code - kFirst));
    else
      bytes += text.substr(0, length);
    text.remove_prefix(length);
  }
  return bytes;
}

}  // namespace stipple
