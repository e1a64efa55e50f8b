// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/files/has_extension.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace stipple {

bool has_extension(const std::filesystem::path& path, std::initializer_list<const char*> extensions) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

}  // namespace stipple
