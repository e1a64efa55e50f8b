// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace stipple {

inline constexpr std::size_t kMaxLineSize = 64 * 1024;  // bytes

// Splits the output of a program into lines, in time proportional to its size. A carriage return, with which
// programs redraw a line on a terminal, also ends a line. Of a line that is longer than kMaxLineSize, only
// the first kMaxLineSize bytes are kept, so that the memory is bounded whatever the program prints.
class OutputLines {
 public:
  explicit OutputLines(std::function<void(const std::string&)> on_line) : on_line_(std::move(on_line)) {}

  void add(std::string_view bytes);
  void finish();  // at the end of the output, whose last line may lack a line end

 private:
  void end_line();

  std::function<void(const std::string&)> on_line_;
  std::string line_;  // its beginning, so far
};

}  // namespace stipple
