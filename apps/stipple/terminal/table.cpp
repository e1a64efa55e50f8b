// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/terminal/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "apps/stipple/terminal/standard_files.h"

namespace stipple {

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string table;
  for (const auto& row : rows) {
    table += fmt::format("{:<{}}", row[0], widths[0]);
    for (std::size_t i = 1; i < row.size(); ++i) table += fmt::format("  {:>{}}", row[i], widths[i]);
    table += '\n';
  }
  write_output(table);
}

}  // namespace stipple
