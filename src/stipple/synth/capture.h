// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the captures of the still life and of the city have in common.
#include "stipple/synth/synth.h"

namespace stipple::synth {

// Throws OptionError for an option that is out of range.
void check(const SynthOptions& options);

// A camera with the size and the focal length of all photos; `up` must not be parallel to its direction.
Camera camera_at(Vec3f position, Vec3f target, Vec3f up, const SynthOptions& options);

}  // namespace stipple::synth
