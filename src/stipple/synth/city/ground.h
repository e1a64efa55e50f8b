// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/synth/city/block.h"

namespace stipple::synth::city {

// The reflectance of the ground of a block: roadways with their markings, pavements, and what the streets
// enclose. `world` shifts the noise, which goes on from block to block.
Vec3f ground_color(const Block& block, Vec2f in_block, Vec2f world, float footprint);

// Of the fields around the city; `outside` is the distance to its border.
Vec3f field_color(Vec2f world, float outside, float footprint);

}  // namespace stipple::synth::city
