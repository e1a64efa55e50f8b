// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which device a user means: a number counts from 0, anything else is a part of a name.
#include <span>
#include <string>
#include <string_view>

namespace stipple {

// Whether this text chooses a device by its name: it is neither empty nor a number.
bool is_device_name(std::string_view wanted);

// Whether `part` occurs in the name, in upper or lower case.
bool has_in_name(std::string_view name, std::string_view part);

// The index of the wanted device among the names of a backend's devices. A whole name takes precedence over
// names that merely contain it. Throws Error listing the names if no device fits, or more than one.
std::size_t find_device(std::string_view backend, std::span<const std::string> names,
                        std::string_view wanted);

// The devices as errors list them: "0: NVIDIA H200, 1: NVIDIA A100".
std::string numbered_names(std::span<const std::string> names);

}  // namespace stipple
