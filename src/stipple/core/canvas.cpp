// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/canvas.h"

#include <algorithm>
#include <cmath>

namespace stipple {

namespace {

// The distance of a point from the line between two others.
float distance_to_segment(Vec2f p, Vec2f a, Vec2f b) {
  const Vec2f ab = b - a, ap = p - a;
  const float length2 = dot(ab, ab);
  const float t = length2 > 0 ? std::clamp(dot(ap, ab) / length2, 0.0f, 1.0f) : 0.0f;
  const Vec2f d = ap - ab * t;
  return std::sqrt(dot(d, d));
}

}  // namespace

Canvas::Canvas(int width_px, int height_px, Vec3f background) : image_(width_px, height_px, 3) {
  for (int y = 0; y < height_px; ++y)
    for (int x = 0; x < width_px; ++x)
      for (int c = 0; c < 3; ++c) image_.at(x, y, c) = background[c];
}

void Canvas::cover(int x, int y, float amount, Vec3f color) {
  for (int c = 0; c < 3; ++c) image_.at(x, y, c) += amount * (color[c] - image_.at(x, y, c));
}

void Canvas::dot(Vec2f center, float radius_px, Vec3f color) { line(center, center, 2 * radius_px, color); }

// Every pixel as far as it lies within half the width, with an edge one pixel wide.
void Canvas::line(Vec2f from, Vec2f to, float width_px, Vec3f color) {
  const float reach = width_px / 2 + 1;
  const auto first = [](float v, int size) {
    return static_cast<int>(std::clamp(v, 0.0f, static_cast<float>(size)));
  };
  const int left = first(std::min(from.x, to.x) - reach, image_.width_px),
            right = first(std::max(from.x, to.x) + reach + 1, image_.width_px),
            top = first(std::min(from.y, to.y) - reach, image_.height_px),
            bottom = first(std::max(from.y, to.y) + reach + 1, image_.height_px);
  for (int y = top; y < bottom; ++y)
    for (int x = left; x < right; ++x) {
      const Vec2f pixel(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
      const float amount = std::clamp(width_px / 2 + 0.5f - distance_to_segment(pixel, from, to), 0.0f, 1.0f);
      if (amount > 0) cover(x, y, amount, color);
    }
}

}  // namespace stipple
