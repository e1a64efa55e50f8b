// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "stipple/image/image.h"

namespace stipple {

// Draws dots, lines, text and images into an RGB image, with antialiased edges. Coordinates are in pixels,
// with (0, 0) at the top-left corner.
class Canvas {
 public:
  Canvas(int width_px, int height_px, Vec3f background);

  void dot(Vec2f center, float radius_px, Vec3f color);
  void line(Vec2f from, Vec2f to, float width_px, Vec3f color);
  // Capitals are size_px high, starting at top_left; they are sharpest if size_px is a multiple of 7.
  void text(Vec2f top_left, std::string_view text, float size_px, Vec3f color);
  // Copies an image of 3 channels, with values clamped to [0, 1]; parts outside the canvas are clipped.
  void picture(int left, int top, const Image& picture);

  const Image& image() const { return image_; }

 private:
  void glyph(Vec2f top_left, char character, float dot_px, Vec3f color);
  void cover(int x, int y, float amount, Vec3f color);

  Image image_;
};

}  // namespace stipple
