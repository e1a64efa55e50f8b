// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace stipple {

// The words as one command for a shell, each quoted if it needs to be.
std::string shell_line(const std::vector<std::string>& words);

}  // namespace stipple
