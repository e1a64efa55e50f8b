// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/frame.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <optional>

#include "stipple/core/error.h"

namespace stipple {

namespace {

// Right, up and back are the axes of the frame in which the others are described.
std::optional<Vec3<double>> direction_of(char letter) {
  switch (std::tolower(static_cast<unsigned char>(letter))) {
    case 'r':
      return Vec3<double>(1, 0, 0);
    case 'l':
      return Vec3<double>(-1, 0, 0);
    case 'u':
      return Vec3<double>(0, 1, 0);
    case 'd':
      return Vec3<double>(0, -1, 0);
    case 'b':
      return Vec3<double>(0, 0, 1);
    case 'f':
      return Vec3<double>(0, 0, -1);
    default:
      return std::nullopt;
  }
}

// The directions of the frame's axes, as columns.
Mat3<double> axes_of(std::string_view name) {
  std::array<std::optional<Vec3<double>>, 3> axis;
  for (std::size_t i = 0; i < 3 && name.size() == 3; ++i) axis[i] = direction_of(name[i]);
  if (axis[0] && axis[1] && axis[2]) {
    const Mat3<double> axes(*axis[0], *axis[1], *axis[2]);
    if (determinant(axes) != 0) return axes;
  }
  throw Error(
      fmt::format("'{}' is not a frame; name where x, y and z point with one letter each: l or r, u or d, f "
                  "or b, as in rdf",
                  name));
}

}  // namespace

SimilarityTransform change_of_frame(std::string_view from, std::string_view to) {
  return {transpose(axes_of(to)) * axes_of(from)};
}

}  // namespace stipple
