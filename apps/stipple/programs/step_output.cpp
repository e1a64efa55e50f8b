// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/step_output.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace stipple {

namespace {

// "[3/50]" counts photos. "[2/4, 1/4]" is the row and the column of a block; rows are processed in order.
std::optional<StepCount> count_in_brackets(const char* text) {
  int row = 0, rows = 0, column = 0, columns = 0;  // of at most nine digits, so that none overflows
  const int found = std::sscanf(text, "[%9d/%9d, %9d/%9d]", &row, &rows, &column, &columns);
  if (found == 4) return StepCount{(row - 1.0) * columns + column, 1.0 * rows * columns};
  if (found >= 2) return StepCount{1.0 * row, 1.0 * rows};
  return {};
}

// "(13)" or "(num_reg_frames=13)".
std::optional<StepCount> count_in_parentheses(const std::string& text) {
  const std::size_t digits = text.find_first_of("0123456789", text.find('('));
  if (digits == std::string::npos) return {};
  return StepCount{std::strtod(text.c_str() + digits, nullptr), 0};
}

bool has_prefix(const std::string& line) {
  return line.size() > 5 && std::string("IWEF").find(line[0]) != std::string::npos &&
         std::isdigit(static_cast<unsigned char>(line[1])) && line.find("] ") != std::string::npos;
}

// Not in the middle of a UTF-8 character, whose bytes after the first are 10xxxxxx.
std::string shortened(const std::string& text) {
  if (text.size() <= kMaxMessageSize) return text;
  std::size_t size = kMaxMessageSize - 3;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return text.substr(0, size) + "...";
}

}  // namespace

std::optional<StepCount> step_count(const std::string& line) {
  for (const char* start : {"Processed file [", "Matching block [", "Processing block [", "Matching image [",
                            "Processing image [", "Undistorting image ["})
    if (const std::size_t at = line.find(start); at != std::string::npos)
      return count_in_brackets(line.c_str() + line.find('[', at));
  if (const std::size_t at = line.find("Registering image #"); at != std::string::npos)
    return count_in_parentheses(line.substr(at));
  return {};
}

std::string message_of(const std::string& line) {
  std::string text = has_prefix(line) ? line.substr(line.find("] ") + 2) : line;
  text.erase(0, text.find_first_not_of(" \t"));
  text.erase(text.find_last_not_of(" \t") + 1);
  if (text.find_first_not_of("=-") == std::string::npos) return "";
  for (const char* start : {"Elapsed time", "*** ", "@ "})
    if (text.starts_with(start)) return "";
  return shortened(text);
}

}  // namespace stipple
