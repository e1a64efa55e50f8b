// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <cstdint>

namespace stipple {

// Accepts whole numbers from low to high, both included.
CLI::Validator whole_number(std::int64_t low, std::int64_t high);

}  // namespace stipple
