// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/math/vec.h"

namespace stipple::synth {

enum class Pattern { kPlain, kWood, kMarble, kChecker, kStripes, kSpeckles, kTerrace, kSky };

// Colours are linear and relative: 1 is a surface that returns all light.
struct Material {
  Pattern pattern = Pattern::kPlain;
  Vec3f base{0.5f, 0.5f, 0.5f};
  Vec3f accent{0.5f, 0.5f, 0.5f};  // what the pattern brings in
  float scale = 1;                 // of the pattern's features, scene units
  float gloss = 0;                 // what a mirror of this material returns when it is looked at straight
  Vec3f texture_offset{0, 0, 0};   // moves the pattern's noise
};

// The colour at a point of the shape's own frame: of the light a surface returns, or that the sky sends.
Vec3f color_at(const Material& material, Vec3f local);

}  // namespace stipple::synth
