// SPDX-License-Identifier: Apache-2.0
#pragma once
// Parses words and numbers of text files, independent of the locale.
#include <charconv>
#include <string_view>

namespace stipple {

bool is_space(char c);

// Removes the next word, which ends at white space, from the front of `text` and returns it. Returns an empty
// view if there is none.
std::string_view take_word(std::string_view& text);

// Returns whether all of `text` is a number. Accepts "nan", "-nan(ind)", "inf" and a leading plus sign.
// Values that are too large become infinite, and values that are too small become 0.
bool parse_number(std::string_view text, float& value);
bool parse_number(std::string_view text, double& value);

// Returns whether all of `text` is an integer that fits into T.
template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace stipple
