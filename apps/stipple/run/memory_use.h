// SPDX-License-Identifier: Apache-2.0
#pragma once
// Resident host memory of this process.
#include <cstddef>

namespace stipple {

std::size_t peak_memory_bytes();
std::size_t memory_bytes();  // at present

}  // namespace stipple
