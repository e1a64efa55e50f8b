// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "stipple/math/vec.h"

namespace stipple::synth {

// A fixed random number in [0, 1) for each cell of the integer lattice.
float cell_value(std::int64_t x, std::int64_t y, std::int64_t z);

// Smooth noise in [0, 1] that varies over lengths of about 1: interpolated cell values.
float noise(Vec3f p);
float noise(Vec2f p);  // two-dimensional, at half the cost

// Noise at lengths 1 and 1/2, the latter with half the amplitude, in [0, 1].
template <class Vec>
float layered_noise(Vec p) {
  return (2 * noise(p) + noise(p * 2.03f)) * (1.0f / 3);  // not quite 2, so that the lattices do not align
}

}  // namespace stipple::synth
