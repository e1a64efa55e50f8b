// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "stipple/synth/trace.h"

namespace stipple::synth {

constexpr int kSunRays = 4;  // of a sample: how many points of its sequence it uses

// A place in a sequence of points that fill the unit square evenly, wherever it is entered: samples of one
// pixel that follow each other share out the sun between them.
struct SquareSequence {
  Vec2f start;  // within the unit square
  int index = 0;

  Vec2f at(int i) const;
};

// Light that comes back along the ray, linear; 1 is about white paper in the sun.
Vec3f radiance(const StillLife& scene, const Ray& ray, const Hit& hit, const SquareSequence& sequence);

// The part of it that is the same from every direction: without the gloss.
Vec3f matte_radiance(const StillLife& scene, const Ray& ray, const Hit& hit, const SquareSequence& sequence);

// The pixel that a camera makes of it: exposed on a film with soft highlights, sRGB-encoded.
std::array<std::uint8_t, 3> develop(Vec3f radiance);

}  // namespace stipple::synth
