// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "stipple/synth/trace.h"

namespace stipple::synth {

constexpr int kSunRays = 4;  // per sample; each uses one point of the sample's sequence

// A position in a sequence of points that fill the unit square evenly from any index on, so that consecutive
// samples of a pixel cover different parts of the sun.
struct SquareSequence {
  Vec2f start;  // in the unit square
  int index = 0;

  Vec2f at(int i) const;
};

// The light that arrives along the ray, linear; 1 is about white paper in the sun.
Vec3f radiance(const StillLife& scene, const Ray& ray, const Hit& hit, const SquareSequence& sequence);

// The part of it that is the same from every direction, that is, without gloss.
Vec3f matte_radiance(const StillLife& scene, const Ray& ray, const Hit& hit, const SquareSequence& sequence);

// The pixel that a camera records: exposed on film with soft highlights, multiplied by `exposure`, clipped at
// white, sRGB-encoded.
std::array<std::uint8_t, 3> develop(Vec3f radiance, float exposure = 1);

}  // namespace stipple::synth
