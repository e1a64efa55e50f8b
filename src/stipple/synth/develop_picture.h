// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/image/image.h"
#include "stipple/synth/synth.h"

namespace stipple::synth {

// Turns the light at each pixel (render_light()) into the photo and, if it is `transparent`, its alpha.
void develop_picture(const Image& light, float exposure, bool transparent, SynthPicture& picture);

}  // namespace stipple::synth
