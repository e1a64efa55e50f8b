// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace stipple {

struct PictureSize {
  int width_px = 0, height_px = 0;
};

// What --size takes: 640x480. Error when it is something else.
PictureSize parse_size(const std::string& text);

}  // namespace stipple
