// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/synth/city/block.h"

namespace stipple::synth::city {

// The reflectance of a part at a point of its surface, in the block's frame.
Vec3f color_of(const Part& part, Vec3f point, Vec3f normal, float footprint);

}  // namespace stipple::synth::city
