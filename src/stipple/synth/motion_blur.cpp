// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/motion_blur.h"

#include <algorithm>
#include <cmath>

#include "stipple/core/parallel.h"

namespace stipple::synth {

namespace {

constexpr float kSamplesPerPixel = 2;  // of the way

struct Tap {  // a pixel's weight in the result, at an offset from it
  int dx, dy;
  float weight;
};

// The four pixels around a place, by bilinear interpolation.
void add_taps(Vec2f at, float weight, std::vector<Tap>& taps) {
  const float left = std::floor(at.x), top = std::floor(at.y);
  const float x = at.x - left, y = at.y - top;
  const auto dx = static_cast<int>(left), dy = static_cast<int>(top);
  taps.push_back({dx, dy, weight * (1 - x) * (1 - y)});
  taps.push_back({dx + 1, dy, weight * x * (1 - y)});
  taps.push_back({dx, dy + 1, weight * (1 - x) * y});
  taps.push_back({dx + 1, dy + 1, weight * x * y});
}

std::vector<Tap> taps_along(Vec2f sigma_px) {
  const Vec2f way = sigma_px * std::sqrt(12.0f);
  const int count = 1 + static_cast<int>(std::ceil(kSamplesPerPixel * std::sqrt(dot(way, way))));
  std::vector<Tap> taps;
  for (int i = 0; i < count; ++i) {
    const float part = (static_cast<float>(i) + 0.5f) / static_cast<float>(count) - 0.5f;
    add_taps(way * part, 1 / static_cast<float>(count), taps);
  }
  return taps;
}

}  // namespace

Image motion_blur(const Image& image, Vec2f sigma_px) {
  if (sigma_px == Vec2f(0, 0)) return image;
  const std::vector<Tap> taps = taps_along(sigma_px);
  Image blurred(image.width_px, image.height_px, image.channel_count);
  parallel_for(static_cast<std::size_t>(image.height_px), [&](std::size_t row) {
    const int y = static_cast<int>(row);
    for (int x = 0; x < image.width_px; ++x)
      for (const Tap& tap : taps) {
        const int from_x = std::clamp(x + tap.dx, 0, image.width_px - 1);
        const int from_y = std::clamp(y + tap.dy, 0, image.height_px - 1);
        for (int c = 0; c < image.channel_count; ++c)
          blurred.at(x, y, c) += tap.weight * image.at(from_x, from_y, c);
      }
  });
  return blurred;
}

}  // namespace stipple::synth
