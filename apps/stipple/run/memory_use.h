// SPDX-License-Identifier: Apache-2.0
#pragma once
// Host memory of this process.
#include <cstddef>

namespace stipple {

std::size_t peak_memory_bytes();
std::size_t memory_bytes();  // now

}  // namespace stipple
