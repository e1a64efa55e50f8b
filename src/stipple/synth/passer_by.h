// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/camera/camera.h"
#include "stipple/synth/still_life.h"

namespace stipple::synth {

// Adds a figure that stands between the camera and the objects and covers about a tenth of the picture. Its
// number and the seed determine its colour and place.
void add_passer_by(StillLife& scene, const Camera& camera, int number, std::uint64_t seed);

}  // namespace stipple::synth
