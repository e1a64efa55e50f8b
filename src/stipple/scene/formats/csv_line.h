// SPDX-License-Identifier: Apache-2.0
#pragma once
// Lines of comma-separated values.
#include <string>
#include <string_view>
#include <vector>

namespace stipple {

// Splits a line into its fields. A field may be in double quotes, within which "" is a quote.
std::vector<std::string> split_csv_line(std::string_view line, char separator);

// Removes the first line from the front of a text and returns it, without its "\n" or "\r\n".
std::string_view take_text_line(std::string_view& text);

// Without the mark that editors on Windows put before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

}  // namespace stipple
