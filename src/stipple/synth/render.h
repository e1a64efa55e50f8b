// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "stipple/camera/camera.h"
#include "stipple/image/image.h"
#include "stipple/synth/still_life.h"

namespace stipple::synth {

// The light that arrives at each pixel: three linear channels multiplied by alpha, then alpha, which is 1
// everywhere unless `transparent`, which leaves out the ground and the sky.
Image render_light(const Camera& camera, const StillLife& scene, bool transparent);

// z in the camera's frame at each pixel's centre, 0 for what is not there and for the sky.
std::vector<float> render_depth(const Camera& camera, const StillLife& scene, bool transparent);

}  // namespace stipple::synth
