// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "stipple/synth/develop_picture.h"
#include "stipple/synth/motion_blur.h"
#include "stipple/synth/passer_by.h"
#include "stipple/synth/render.h"
#include "stipple/synth/synth.h"

namespace stipple {

using namespace synth;

SynthPicture synth_render(const SynthView& view, const SynthOptions& options) {
  StillLife scene = make_still_life(options.seed);
  SynthPicture picture;
  picture.depth = render_depth(view.camera, scene, options.transparent);
  const SynthFaults& faults = view.faults;
  if (faults.passer_by > 0) add_passer_by(scene, view.camera, faults.passer_by, options.seed);
  const Image light = motion_blur(render_light(view.camera, scene, options.transparent), faults.blur_px);
  develop_picture(light, std::exp2(faults.exposure_stops), options.transparent, picture);
  return picture;
}

SynthPicture synth_render(const Camera& camera, std::uint64_t seed) {
  return synth_render({.name = {}, .camera = camera, .written_camera = camera}, {.seed = seed});
}

}  // namespace stipple
