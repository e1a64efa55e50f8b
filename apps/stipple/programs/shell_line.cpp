// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/shell_line.h"

namespace stipple {

namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string("_-+=./:,%@").find(c) != std::string::npos;
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  bool needs_quotes = word.empty();
  for (const char c : word) {
    needs_quotes |= !is_plain(c);
    text += c == '\'' ? "'\\''" : std::string(1, c);
  }
  return needs_quotes ? text + "'" : word;
}

}  // namespace

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + quoted(word);
  return line;
}

}  // namespace stipple
