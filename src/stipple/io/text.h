// SPDX-License-Identifier: Apache-2.0
#pragma once
// Words and numbers of text files, the same whatever the locale.
#include <charconv>
#include <string_view>

namespace stipple {

bool is_space(char c);

// Takes the next word, up to white space, off the front of `text`; empty when there is none.
std::string_view take_word(std::string_view& text);

// Whether all of `text` is a number; it may be "nan", "-nan(ind)" or "inf", and have a plus sign. What is too
// large becomes infinite, what is too small 0.
bool parse_number(std::string_view text, float& value);
bool parse_number(std::string_view text, double& value);

// Whether all of `text` is a whole number that fits.
template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace stipple
