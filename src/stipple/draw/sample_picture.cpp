// SPDX-License-Identifier: Apache-2.0
#include "stipple/draw/sample_picture.h"

#include <algorithm>
#include <cmath>

#include "stipple/core/interpolate.h"

namespace stipple {

namespace {

// Coordinates: x from 0 to 1.5, y from 0 (top) to 1.
constexpr float kHorizon = 0.62f;
constexpr float kSunX = 1.02f, kSunY = 0.40f;

Vec3f sky(float x, float y) {
  Vec3f color = mix({0.12f, 0.16f, 0.36f}, {0.95f, 0.55f, 0.30f}, std::pow(y / kHorizon, 1.6f));
  float distance = std::hypot(x - kSunX, y - kSunY);
  color = mix(color, {1.0f, 0.80f, 0.45f}, 0.75f * std::exp(-distance * 5));
  float cloud = std::sin(9 * x + 3 * std::sin(14 * y)) + std::sin(5 * x - 31 * y + 1.3f);
  color = mix(color, {0.98f, 0.72f, 0.60f}, 0.16f * smooth_step(0.4f, 1.6f, cloud));
  return mix({1.0f, 0.95f, 0.78f}, color, smooth_step(0.058f, 0.062f, distance));
}

float ridge(float x, float base, float height, float frequency, float phase) {
  return base - height * (0.55f * std::sin(frequency * x + phase) +
                          0.3f * std::sin(2.3f * frequency * x + 2 * phase) +
                          0.15f * std::sin(5.1f * frequency * x + 3 * phase));
}

// The outline of a fir, whose branches get shorter towards the top.
bool in_tree(float x, float y, float root_x, float root_y, float height) {
  float up = (root_y - y) / height;
  if (up < 0 || up > 1) return false;
  float branch = 0.65f + 0.35f * std::abs(std::sin(up * 22));
  return std::abs(x - root_x) < 0.24f * height * (1 - up) * branch + 0.0015f;
}

Vec3f land(float x, float y) {
  Vec3f color = sky(x, y);
  if (y > ridge(x, 0.50f, 0.075f, 4.2f, 0.7f))
    color = mix({0.34f, 0.27f, 0.42f}, {0.62f, 0.42f, 0.42f}, 8 * (y - 0.5f));
  if (y > ridge(x, 0.57f, 0.040f, 7.0f, 2.1f))
    color = mix({0.17f, 0.19f, 0.27f}, {0.30f, 0.25f, 0.28f}, 9 * (y - 0.55f));
  for (int i = 0; i < 9; ++i) {
    float at = 0.06f + 0.047f * static_cast<float>(i) + 0.012f * std::sin(5.0f * static_cast<float>(i));
    if (in_tree(x, y, at, kHorizon + 0.004f, 0.13f + 0.05f * std::sin(3.7f * static_cast<float>(i))))
      color = {0.05f, 0.09f, 0.10f};
  }
  return color;
}

Vec3f water(float x, float y) {
  float depth = y - kHorizon;
  float ripple =
      std::sin(240 * depth / (0.35f + 2 * depth) + 6 * std::sin(7 * x)) * 0.010f * (0.3f + 3 * depth);
  Vec3f mirrored = land(x + ripple, kHorizon - 0.75f * depth - std::abs(ripple) * 0.6f);
  Vec3f color = mix(mirrored, {0.10f, 0.16f, 0.25f}, 0.25f + 0.9f * depth);
  float glitter = std::exp(-std::abs(x - kSunX) * (10 - 12 * depth)) * std::max(0.0f, ripple) * 45;
  return mix(color, {1.0f, 0.85f, 0.60f}, glitter);
}

// A jetty with planks, dark gaps and posts. Returns false outside it.
bool jetty(float x, float y, Vec3f& color) {
  float along = (1.02f - y) / 0.24f;  // 0 at the bottom edge, 1 at the far end
  if (along < 0 || along > 1) return false;
  float width = 0.16f - 0.10f * along, center = 0.33f + 0.10f * along;
  float across = (x - center) / width;
  float perspective = 1 / (1.15f - along);
  for (float side : {-1.0f, 1.0f})
    if (std::abs(across - side) < 0.09f && std::fmod(perspective * 1.6f, 1.0f) < 0.22f) {
      color = {0.12f, 0.08f, 0.07f};
      return true;
    }
  if (std::abs(across) > 1) return false;
  bool gap = std::fmod(perspective * 7.0f, 1.0f) < 0.16f;
  float grain = 0.04f * std::sin(60 * across + 5 * std::sin(9 * perspective));
  color = gap ? Vec3f(0.13f, 0.10f, 0.10f) : Vec3f(0.46f + grain, 0.33f + grain, 0.25f + grain);
  return true;
}

Vec3f color_at(float x, float y) {
  Vec3f color;
  if (jetty(x, y, color)) return color;
  return y < kHorizon ? land(x, y) : water(x, y);
}

}  // namespace

Image sample_picture(int width_px, int height_px) {
  Image image(width_px, height_px, 3);
  constexpr int kSamples = 3;  // per pixel and axis, for smooth edges
  for (int y = 0; y < height_px; ++y)
    for (int x = 0; x < width_px; ++x) {
      Vec3f sum(0, 0, 0);
      for (int j = 0; j < kSamples; ++j)
        for (int i = 0; i < kSamples; ++i) {
          float u = static_cast<float>(x) + (static_cast<float>(i) + 0.5f) / kSamples;
          float v = static_cast<float>(y) + (static_cast<float>(j) + 0.5f) / kSamples;
          sum = sum + color_at(1.5f * u / static_cast<float>(width_px), v / static_cast<float>(height_px));
        }
      for (int c = 0; c < 3; ++c) image.at(x, y, c) = sum[c] / (kSamples * kSamples);
    }
  return image;
}

}  // namespace stipple
