// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>

namespace stipple {

// What must be true for every input; otherwise the fuzz target crashes.
inline void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace stipple
