// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/develop_picture.h"

#include <algorithm>
#include <cmath>

#include "stipple/core/parallel.h"
#include "stipple/synth/shade.h"

namespace stipple::synth {

namespace {

// Where nothing is, the colour is black.
std::array<std::uint8_t, 3> developed_pixel(const float* light, float exposure) {
  const float alpha = light[3];
  if (alpha == 0) return {0, 0, 0};
  return develop(Vec3f(light[0], light[1], light[2]) * (1 / alpha), exposure);
}

}  // namespace

void develop_picture(const Image& light, float exposure, bool transparent, SynthPicture& picture) {
  picture.photo.width_px = light.width_px;
  picture.photo.height_px = light.height_px;
  picture.photo.rgb.resize(3 * light.pixel_count());
  if (transparent) picture.alpha.resize(light.pixel_count());
  parallel_for(
      light.pixel_count(),
      [&](std::size_t i) {
        const float* pixel = &light.values[4 * i];
        std::ranges::copy(developed_pixel(pixel, exposure), &picture.photo.rgb[3 * i]);
        if (transparent) picture.alpha[i] = static_cast<std::uint8_t>(std::lround(255 * pixel[3]));
      },
      1 << 12);
}

}  // namespace stipple::synth
