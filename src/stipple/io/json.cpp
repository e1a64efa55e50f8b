// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/json.h"

#include <algorithm>
#include <cstddef>

namespace stipple {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

// Returns the position behind the string or comment that starts at `begin`.
std::size_t skip_string(std::string_view text, std::size_t begin) {
  for (std::size_t i = begin + 1; i < text.size(); ++i) {
    if (text[i] == '"') return i + 1;
    if (text[i] == '\\') ++i;
  }
  return text.size();
}

std::size_t skip_comment(std::string_view text, std::size_t begin) {
  const std::string_view start = text.substr(begin, 2);
  constexpr std::string_view kLineEnds("\r\n\0", 3);  // those of the parser
  if (start == "//") return std::min(text.find_first_of(kLineEnds, begin), text.size());
  if (start != "/*") return begin + 1;
  const std::size_t end = text.find("*/", begin + 2);
  return end == kNone ? text.size() : end + 2;
}

}  // namespace

std::string_view json_excess(std::string_view text) {
  std::size_t depth = 0, separators = 0;
  for (std::size_t i = 0; i < text.size();) {
    switch (text[i]) {
      case '"':
        i = skip_string(text, i);
        continue;
      case '/':  // without comments, the parser stops here
        i = skip_comment(text, i);
        continue;
      case '[':
      case '{':
        if (++depth > kMaxJsonDepth) return kTooDeepJson;
        ++separators;
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      case ',':
        ++separators;
        break;
      default:
        break;
    }
    if (separators > kMaxJsonValues) return kTooManyJsonValues;
    ++i;
  }
  return {};
}

}  // namespace stipple
