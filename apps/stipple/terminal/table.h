// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace stipple {

// Prints rows of cells in columns: the first to the left, numbers to the right.
void print_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace stipple
