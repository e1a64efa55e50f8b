// SPDX-License-Identifier: Apache-2.0
#pragma once
// A row of the list of formats in model_file.cpp. To add a format, write it in model/formats/ and add its
// row.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "stipple/model/model_file.h"

namespace stipple {

struct ModelFormat {
  std::string_view name;                      // for messages
  std::span<const std::string_view> endings;  // of file names, in lower case; the first is the usual one
  // Whether a file that starts with these bytes (the first 64 KiB, or all of a shorter file) has this format.
  // Null for a format that cannot be told from its content.
  bool (*is_format)(std::span<const std::byte> head);
  Gaussians (*load)(const std::filesystem::path& path, ModelFacts& facts);
  // Null for a format that is only read.
  void (*save)(const Gaussians& gaussians, const std::filesystem::path& path,
               const SaveModelOptions& options);
};

}  // namespace stipple
