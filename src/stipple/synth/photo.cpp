// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "stipple/core/parallel.h"
#include "stipple/synth/motion_blur.h"
#include "stipple/synth/passer_by.h"
#include "stipple/synth/render.h"
#include "stipple/synth/shade.h"
#include "stipple/synth/synth.h"

namespace stipple {

namespace {

using namespace synth;

// Where nothing is, the colour is black.
std::array<std::uint8_t, 3> developed_pixel(const float* light, float exposure) {
  const float alpha = light[3];
  if (alpha == 0) return {0, 0, 0};
  return develop(Vec3f(light[0], light[1], light[2]) * (1 / alpha), exposure);
}

void develop(const Image& light, float exposure, bool transparent, SynthPicture& picture) {
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

}  // namespace

SynthPicture synth_render(const SynthView& view, const SynthOptions& options) {
  StillLife scene = make_still_life(options.seed);
  SynthPicture picture;
  picture.depth = render_depth(view.camera, scene, options.transparent);
  const SynthFaults& faults = view.faults;
  if (faults.passer_by > 0) add_passer_by(scene, view.camera, faults.passer_by, options.seed);
  const Image light = motion_blur(render_light(view.camera, scene, options.transparent), faults.blur_px);
  develop(light, std::exp2(faults.exposure_stops), options.transparent, picture);
  return picture;
}

SynthPicture synth_render(const Camera& camera, std::uint64_t seed) {
  return synth_render({.name = {}, .camera = camera, .written_camera = camera}, {.seed = seed});
}

}  // namespace stipple
