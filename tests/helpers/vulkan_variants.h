// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Vulkan backend as tests run it: as the device is, and with the abilities of lesser devices.
#include <memory>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple {

// "vulkan_deterministic", and one name for each path that the device would not take by itself: without
// subgroup operations, without float atomics, and with arrays split as for a device with small bindings.
std::vector<std::string> vulkan_variant_names();

// All backends of one name share a device, since opening one and compiling its kernels takes longer than most
// tests.
std::unique_ptr<Backend> make_vulkan_variant(const std::string& name);

}  // namespace stipple
