// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/number_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/text.h"

namespace stipple {

std::vector<double> parse_numbers(std::string_view text) {
  std::string words(text);
  std::replace_if(
      words.begin(), words.end(),
      [](char c) { return std::string_view(",;[]()").find(c) != std::string_view::npos; }, ' ');
  std::vector<double> numbers;
  std::string_view rest = words;
  for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
    double number = 0;
    if (!parse_number(word, number)) throw Error(fmt::format("'{}' is not a number", printable(word)));
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace stipple
