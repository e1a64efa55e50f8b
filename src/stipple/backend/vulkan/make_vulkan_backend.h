// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple::vulkan {

std::unique_ptr<Backend> make_vulkan_backend(const BackendOptions& options);
std::string why_vulkan_is_unusable();            // a sentence; empty when it is usable
std::string why_vulkan_is_not_best();            // the same, also if there is no real GPU
std::vector<std::string> list_vulkan_devices();  // one line each

}  // namespace stipple::vulkan
