// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>

namespace stipple {

// Accepts numbers from low to high, both included. CLI::Range would also accept "nan".
CLI::Validator number_range(double low, double high);

}  // namespace stipple
