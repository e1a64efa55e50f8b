// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple::vulkan {

std::unique_ptr<Backend> make_vulkan_backend(const BackendOptions& options);
std::string why_vulkan_is_unusable();           // a sentence; empty when it is usable
std::vector<DeviceInfo> list_vulkan_devices();  // real GPUs first

}  // namespace stipple::vulkan
