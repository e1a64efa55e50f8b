// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/files/create_folder.h"

#include <fmt/format.h>

#include "stipple/core/error.h"

namespace stipple {

std::filesystem::path create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(fmt::format("cannot create the folder {}: {}", folder.string(), error.message()));
  return folder;
}

}  // namespace stipple
