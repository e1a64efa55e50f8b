// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/math/vec.h"

namespace stipple::synth {

enum class Pattern { kPlain, kWood, kMarble, kChecker, kStripes, kSpeckles, kTerrace, kSky };

// Colours are linear; a surface of colour 1 reflects all light.
struct Material {
  Pattern pattern = Pattern::kPlain;
  Vec3f base{0.5f, 0.5f, 0.5f};
  Vec3f accent{0.5f, 0.5f, 0.5f};  // the pattern's second colour
  float scale = 1;                 // size of the pattern's features, in scene units
  float gloss = 0;                 // mirror reflectance at normal incidence
  Vec3f texture_offset{0, 0, 0};   // shifts the pattern's noise
};

// The colour at a point in the shape's own frame: a surface's reflectance, or the radiance of the sky.
Vec3f color_at(const Material& material, Vec3f local);

}  // namespace stipple::synth
