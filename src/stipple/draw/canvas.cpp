// SPDX-License-Identifier: Apache-2.0
#include "stipple/draw/canvas.h"

#include <algorithm>
#include <cmath>

#include "stipple/draw/font.h"

namespace stipple {

namespace {

// The distance of p from the segment between a and b.
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

// Coverage falls from 1 to 0 across an edge one pixel wide, centred at half the line's width.
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

// Draws strokes between neighbouring dots, so that letters are smooth at any size. A diagonal is drawn only
// if no dot at the corner joins its ends.
void Canvas::glyph(Vec2f top_left, char character, float dot_px, Vec3f color) {
  const auto place = [&](int x, int y) {
    return top_left + Vec2f(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f) * dot_px;
  };
  const auto dot_at = [&](int x, int y) { return has_dot(character, x, y); };
  for (int y = 0; y < kGlyphHeight; ++y)
    for (int x = 0; x < kGlyphWidth; ++x) {
      if (!dot_at(x, y)) continue;
      const bool right = dot_at(x + 1, y), down = dot_at(x, y + 1), left = dot_at(x - 1, y);
      const auto stroke_to = [&](int to_x, int to_y) { line(place(x, y), place(to_x, to_y), dot_px, color); };
      stroke_to(x, y);
      if (right) stroke_to(x + 1, y);
      if (down) stroke_to(x, y + 1);
      if (!right && !down && dot_at(x + 1, y + 1)) stroke_to(x + 1, y + 1);
      if (!left && !down && dot_at(x - 1, y + 1)) stroke_to(x - 1, y + 1);
    }
}

void Canvas::text(Vec2f top_left, std::string_view text, float size_px, Vec3f color) {
  const float dot_px = size_px / kCapitalHeight;
  for (const char character : text) {
    glyph(top_left, character, dot_px, color);
    top_left.x += kGlyphAdvance * dot_px;
  }
}

void Canvas::picture(int left, int top, const Image& picture) {
  assert(picture.channel_count == 3);
  const int right = std::min(left + picture.width_px, image_.width_px);
  const int bottom = std::min(top + picture.height_px, image_.height_px);
  for (int y = std::max(top, 0); y < bottom; ++y)
    for (int x = std::max(left, 0); x < right; ++x)
      for (int c = 0; c < 3; ++c)
        image_.at(x, y, c) = std::clamp(picture.at(x - left, y - top, c), 0.0f, 1.0f);
}

}  // namespace stipple
