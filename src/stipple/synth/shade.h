// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>

#include "stipple/synth/square_sequence.h"
#include "stipple/synth/trace.h"

namespace stipple::synth {

constexpr int kSunRays = 4;  // per sample; each uses one point of the sample's sequence

// The light that arrives along the ray, linear; 1 is about white paper in the sun.
Vec3f radiance(const StillLife& scene, const Ray& ray, const Hit& hit, const SquareSequence& sequence);

// The part of it that is the same from every direction, that is, without gloss.
Vec3f matte_radiance(const StillLife& scene, const Ray& ray, const Hit& hit, const SquareSequence& sequence);

// The pixel that a camera records: exposed on film with soft highlights, multiplied by `exposure`, clipped at
// white, sRGB-encoded.
std::array<std::uint8_t, 3> develop(Vec3f radiance, float exposure = 1);

}  // namespace stipple::synth
