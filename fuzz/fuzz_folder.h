// SPDX-License-Identifier: Apache-2.0
#pragma once
// Passes the input of a fuzzer to a reader as a file, in a temporary folder that is kept in memory if
// possible.
#include <stdlib.h>  // mkdtemp

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "stipple/core/error.h"

namespace stipple {

class FuzzFolder {
 public:
  FuzzFolder() {
    const bool has_memory_disk = std::filesystem::is_directory("/dev/shm");
    std::string name = has_memory_disk ? "/dev/shm/stipple_fuzz_XXXXXX" : "/tmp/stipple_fuzz_XXXXXX";
    if (!::mkdtemp(name.data())) std::abort();
    path_ = name;
  }
  ~FuzzFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FuzzFolder(const FuzzFolder&) = delete;
  FuzzFolder& operator=(const FuzzFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(std::string_view name, const std::uint8_t* data, std::size_t size) const {
    std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// Malformed files may throw an Error; any other exception crashes the fuzz target.
template <class F>
void expect_error_or_result(F f) {
  try {
    f();
  } catch (const Error&) {
  }
}

}  // namespace stipple
