// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace stipple {

// Prints rows of cells as a table on stdout. The first column is aligned left, the others right.
void print_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace stipple
