// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>
#include <stdlib.h>  // mkdtemp() is POSIX, not ISO C

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "stipple/core/error.h"

namespace stipple {

// A temporary folder beside a file, and so on the same disk. The destructor removes it with its contents.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::filesystem::path& beside) {
    std::string name = beside.string() + ".XXXXXX";
    if (!mkdtemp(name.data()))
      throw Error(fmt::format("cannot create a folder beside {}: {}", beside.string(), std::strerror(errno)));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;  // ignored: remaining files do no harm
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace stipple
