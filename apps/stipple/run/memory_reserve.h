// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace stipple {

// Keeps some memory for the moment when the host has no more. When an allocation fails for the first time,
// the reserve is released and the allocation tried again: a small one, even one in a destructor, succeeds,
// and there is room to save the run. From then on, memory_ran_out() is true.
void keep_memory_reserve();
bool memory_ran_out();

}  // namespace stipple
