// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/core/image.h"

namespace stipple {

// Draws dots and lines into an RGB image, with soft edges. Coordinates are pixels; (0, 0) is the top-left
// corner.
class Canvas {
 public:
  Canvas(int width_px, int height_px, Vec3f background);

  void dot(Vec2f center, float radius_px, Vec3f color);
  void line(Vec2f from, Vec2f to, float width_px, Vec3f color);

  const Image& image() const { return image_; }

 private:
  void cover(int x, int y, float amount, Vec3f color);

  Image image_;
};

}  // namespace stipple
