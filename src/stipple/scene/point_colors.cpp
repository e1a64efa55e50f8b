// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/point_colors.h"

#include <algorithm>

namespace stipple {

namespace {

constexpr double kNearlyAll = 0.99;

// If most points have the same colour, this is it.
std::array<std::uint8_t, 3> median_color(const Points& points) {
  std::array<std::uint8_t, 3> median;
  std::vector<std::uint8_t> values(points.size());
  for (std::size_t c = 0; c < 3; ++c) {
    std::ranges::transform(points.color, values.begin(), [c](const auto& color) { return color[c]; });
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    median[c] = *middle;
  }
  return median;
}

}  // namespace

bool lack_colors(const Points& points) {
  if (points.size() == 0) return false;
  const auto same = std::ranges::count(points.color, median_color(points));
  return static_cast<double>(same) >= kNearlyAll * static_cast<double>(points.size());
}

}  // namespace stipple
