// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/text.h"

#include <limits>

namespace stipple {

namespace {

template <class T>
std::errc parse(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop != end ? std::errc::invalid_argument : error;
}

std::string_view without_plus(std::string_view text) {  // from_chars rejects a plus sign
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return text;
}

}  // namespace

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f'; }

std::string_view take_word(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  std::size_t length = 0;
  while (length < text.size() && !is_space(text[length])) ++length;
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

bool parse_number(std::string_view text, double& value) {
  text = without_plus(text);
  const std::errc error = parse(text, value);
  if (error != std::errc::result_out_of_range) return error == std::errc();
  const bool is_tiny = text.find("e-") != text.npos || text.find("E-") != text.npos;
  value = is_tiny ? 0.0 : std::numeric_limits<double>::infinity();
  if (text[0] == '-') value = -value;
  return true;
}

bool parse_number(std::string_view text, float& value) {
  // Parsing as double first would round twice.
  const std::errc error = parse(without_plus(text), value);
  if (error != std::errc::result_out_of_range) return error == std::errc();
  double wide = 0;
  const bool is_number = parse_number(text, wide);
  value = static_cast<float>(wide);  // zero or infinity
  return is_number;
}

}  // namespace stipple
