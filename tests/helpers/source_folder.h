// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

namespace stipple {

// The root of the source tree, for data that tests read from there. Only one file is compiled with this path,
// so that a compiler cache serves every clone of the repository.
std::filesystem::path source_folder();

}  // namespace stipple
