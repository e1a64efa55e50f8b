// SPDX-License-Identifier: Apache-2.0
#pragma once
// Loads an image from the bytes of its file.
#include <algorithm>
#include <string>
#include <string_view>

#include "stipple/io/image/image_file.h"
#include "tests/helpers/test_folder.h"

namespace stipple {

inline Image load_image_bytes(std::string_view content) {
  TestFolder folder;
  return load_image(folder.write("photo", content));
}

// The error for this content, without the path.
inline std::string image_error(std::string_view content) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("photo", content);
  const std::string message = error_of([&] { load_image(path); });
  const std::string prefix = path.string() + ": ";
  EXPECT_TRUE(message.starts_with(prefix)) << message;
  return message.substr(std::min(prefix.size(), message.size()));
}

}  // namespace stipple
