// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/picture_size.h"

#include <fmt/format.h>

#include <charconv>

#include "stipple/core/error.h"

namespace stipple {

PictureSize parse_size(const std::string& text) {
  PictureSize size;
  const char *at = text.data(), *end = at + text.size();
  const auto width = std::from_chars(at, end, size.width_px);
  const bool has_x = width.ec == std::errc() && width.ptr != end && *width.ptr == 'x';
  const auto height = has_x ? std::from_chars(width.ptr + 1, end, size.height_px) : width;
  const auto is_side = [](int side) { return 16 <= side && side <= 16384; };
  if (!has_x || height.ec != std::errc() || height.ptr != end || !is_side(size.width_px) ||
      !is_side(size.height_px))
    throw Error(fmt::format(
        "--size must be WIDTHxHEIGHT in pixels, each from 16 to 16384, such as 640x480, not '{}'", text));
  return size;
}

}  // namespace stipple
