// SPDX-License-Identifier: Apache-2.0
#define VOLK_IMPLEMENTATION
#include "stipple/backend/vulkan/runtime/api.h"

#include <fmt/format.h>

#include "stipple/core/device.h"

namespace stipple::vulkan {

namespace {

const char* problem(VkResult result) {
  switch (result) {
    case VK_ERROR_INITIALIZATION_FAILED:
      return "the driver could not be initialised";
    case VK_ERROR_FEATURE_NOT_PRESENT:
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "the driver lacks a feature that it announced";
    default:
      return nullptr;
  }
}

}  // namespace

void check(VkResult result, const char* what) {
  if (result >= VK_SUCCESS) return;
  if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_POOL_MEMORY)
    throw OutOfMemory(fmt::format("cannot {}: the GPU has not enough free memory", what));
  if (result == VK_ERROR_OUT_OF_HOST_MEMORY)
    throw OutOfMemory(fmt::format("cannot {}: the Vulkan driver ran out of main memory", what));
  if (result == VK_ERROR_DEVICE_LOST)
    throw DeviceLost(fmt::format("cannot {}: the GPU has stopped responding, or its driver was reset", what));
  const char* why = problem(result);
  throw Error(fmt::format("cannot {}: {}", what,
                          why ? std::string(why) : fmt::format("Vulkan reports error {}", int{result})));
}

}  // namespace stipple::vulkan
