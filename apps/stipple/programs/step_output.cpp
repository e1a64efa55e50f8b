// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/step_output.h"

#include <cctype>
#include <cstdio>

namespace stipple {

namespace {

// "[3/50]" counts photos. "[2/4, 1/4]" is the row and the column of a block; rows are processed in order.
std::optional<StepCount> count_in_brackets(const char* text) {
  int row = 0, rows = 0, column = 0, columns = 0;
  const int found = std::sscanf(text, "[%d/%d, %d/%d]", &row, &rows, &column, &columns);
  if (found == 4) return StepCount{(row - 1) * columns + column, rows * columns};
  if (found >= 2) return StepCount{row, rows};
  return {};
}

// "(13)" or "(num_reg_frames=13)".
std::optional<StepCount> count_in_parentheses(const std::string& text) {
  const std::size_t digits = text.find_first_of("0123456789", text.find('('));
  if (digits == std::string::npos) return {};
  return StepCount{std::atoi(text.c_str() + digits), 0};
}

bool has_prefix(const std::string& line) {
  return line.size() > 5 && std::string("IWEF").find(line[0]) != std::string::npos &&
         std::isdigit(static_cast<unsigned char>(line[1])) && line.find("] ") != std::string::npos;
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
  return text;
}

}  // namespace stipple
