// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers formatted for reading.
#include <cstddef>
#include <string>

namespace stipple {

std::string format_bytes(std::size_t bytes);  // 3.5 KiB, 72 MiB, 1.4 GiB

std::string format_duration(double seconds);  // 4.2 s, 1:05, 2:03:04

// "-" if the value is unknown (NaN).
std::string format_number(double value, int digits);

}  // namespace stipple
