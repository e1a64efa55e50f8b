// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/synth/city/trace.h"
#include "stipple/synth/square_sequence.h"

namespace stipple::synth::city {

constexpr int kLightRays = 4;  // per sample; each uses one point of the sample's sequence

// The light that arrives along the ray, linear. Nothing is glossy, so that a point looks the same from
// everywhere. `pixel_angle` is how much of the view a pixel covers, at a distance of 1.
Vec3f radiance(Tracer& tracer, const Ray& ray, const Hit& hit, float pixel_angle,
               const SquareSequence& sequence);

}  // namespace stipple::synth::city
