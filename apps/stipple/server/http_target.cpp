// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/server/http_target.h"

#include <algorithm>

#include "stipple/core/byte_text.h"

namespace stipple::http {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// "a%20b" to "a b"; nothing if a % is not followed by two digits.
std::optional<std::string> decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

bool is_plain_utf8(std::string_view text) {
  const bool has_control =
      std::any_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < ' ') || c == 127; });
  return !has_control && utf8_from_bytes(text) == text;
}

// Takes the part up to the separator, or all, off the front.
std::string_view take_part(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool has_dot_part(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = take_part(path, '/');
    if (part == "." || part == "..") return true;
  }
  return false;
}

bool is_good_query(std::string_view query) {
  const std::optional<std::string> decoded = decode(query);
  return decoded && is_plain_utf8(*decoded);
}

bool has_encoded_slash(std::string_view text) {
  return text.find("%2f") != std::string_view::npos || text.find("%2F") != std::string_view::npos;
}

}  // namespace

std::optional<HttpTarget> parse_target(std::string_view target) {
  const std::string_view encoded_path = take_part(target, '?');
  const std::optional<std::string> path = decode(encoded_path);
  if (!path || !path->starts_with('/') || has_encoded_slash(encoded_path) || !is_plain_utf8(*path) ||
      path->find_first_of("\\#") != std::string::npos || has_dot_part(*path) || !is_good_query(target))
    return std::nullopt;
  return HttpTarget{.path = *path, .query = std::string(target)};
}

std::string query_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    std::string_view value = take_part(query, '&');
    const std::string_view key = take_part(value, '=');
    if (key != name) continue;
    std::string text(value);
    std::replace(text.begin(), text.end(), '+', ' ');  // as forms encode it
    return decode(text).value_or("");
  }
  return {};
}

}  // namespace stipple::http
