// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <filesystem>

namespace stipple {

// The memory of this machine that programs can still take, in bytes, as far as this process may; 0 if that is
// not known.
std::size_t available_host_bytes();

// The same from the files of the kernel in these folders.
std::size_t available_host_bytes(const std::filesystem::path& proc, const std::filesystem::path& cgroups);

}  // namespace stipple
