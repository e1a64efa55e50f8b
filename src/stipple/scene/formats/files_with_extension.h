// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stipple {

// The files of a folder with this extension, such as ".ply" or ".PLY", in name order. Empty if the folder
// cannot be read.
std::vector<std::filesystem::path> files_with_extension(const std::filesystem::path& folder,
                                                        std::string_view extension);

// The first bytes of a file, to recognise its format; empty if it cannot be opened.
std::string first_bytes(const std::filesystem::path& path, std::size_t count = 1 << 14);

}  // namespace stipple
