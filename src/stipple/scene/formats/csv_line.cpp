// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/csv_line.h"

#include <algorithm>

namespace stipple {

std::vector<std::string> split_csv_line(std::string_view line, char separator) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (is_quoted && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[i++];
    else if (line[i] == '"')
      is_quoted = !is_quoted;
    else if (line[i] == separator && !is_quoted)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

std::string_view take_text_line(std::string_view& text) {
  const std::size_t length = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

}  // namespace stipple
