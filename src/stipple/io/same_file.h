// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <filesystem>

namespace stipple {

// Whether the path still names the open file. A file that was locked with flock() may have been removed
// before it was locked, and another one may have taken its name.
inline bool is_same_file(int descriptor, const std::filesystem::path& path) {
  struct stat opened = {}, named = {};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace stipple
