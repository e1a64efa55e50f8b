// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/output_lines.h"

namespace stipple {

void OutputLines::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find_first_of("\r\n");
    line_ += bytes.substr(0, end).substr(0, kMaxLineSize - line_.size());
    if (end == std::string_view::npos) return;
    end_line();
    bytes.remove_prefix(end + 1);
  }
}

void OutputLines::finish() {
  if (!line_.empty()) end_line();
}

void OutputLines::end_line() {
  on_line_(line_);
  line_.clear();
}

}  // namespace stipple
