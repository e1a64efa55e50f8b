// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

namespace stipple {

// Creates the folder and its parents unless they exist, and returns its path. Throws Error naming it if it
// cannot be created.
std::filesystem::path create_folder(const std::filesystem::path& folder);

}  // namespace stipple
