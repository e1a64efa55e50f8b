// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <initializer_list>

namespace stipple {

// Whether the file has one of these extensions, ignoring case. The extensions must be in lower case.
bool has_extension(const std::filesystem::path& path, std::initializer_list<const char*> extensions);

}  // namespace stipple
