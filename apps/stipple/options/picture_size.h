// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace stipple {

struct PictureSize {
  int width_px = 0, height_px = 0;
};

// Parses the value of --size, such as "640x480". Throws Error if it is malformed or out of range.
PictureSize parse_size(const std::string& text);

}  // namespace stipple
