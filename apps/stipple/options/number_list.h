// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace stipple {

// The numbers in a text, such as "1,2.5,-3" or "[[1, 2], [3, 4]]": separated by commas, spaces or lines, with
// any brackets. Throws Error naming the first word that is no number.
std::vector<double> parse_numbers(std::string_view text);

}  // namespace stipple
