// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Vulkan API. volk loads the system's loader at run time, so that a machine without Vulkan can run
// Stipple.
#define VK_NO_PROTOTYPES
#include <volk.h>

namespace stipple::vulkan {

// Throws OutOfMemory, DeviceLost or Error, worded as "cannot <what>: ...", unless the call succeeded.
void check(VkResult result, const char* what);

}  // namespace stipple::vulkan
