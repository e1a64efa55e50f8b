// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/noise.h"

#include <cmath>

#include "stipple/core/random.h"

namespace stipple::synth {

namespace {

struct Place {  // a position along one axis of the lattice
  std::int64_t cell;
  float blend;  // weight of the next cell's value
};

Place place(float x) {
  const float cell = std::floor(x), t = x - cell;
  return {static_cast<std::int64_t>(cell), t * t * (3 - 2 * t)};
}

float lerp(float a, float b, float t) { return a + (b - a) * t; }

// Interpolates along x, at integer y and z.
float row(const Place& x, std::int64_t y, std::int64_t z) {
  return lerp(cell_value(x.cell, y, z), cell_value(x.cell + 1, y, z), x.blend);
}

float layer(const Place& x, const Place& y, std::int64_t z) {
  return lerp(row(x, y.cell, z), row(x, y.cell + 1, z), y.blend);
}

}  // namespace

float cell_value(std::int64_t x, std::int64_t y, std::int64_t z) {
  const auto key = static_cast<std::uint64_t>(x * 73856093 + y * 19349663 + z * 83492791);  // three primes
  return static_cast<float>(hash_bits(key) >> 40) * 0x1p-24f;
}

float noise(Vec3f p) {
  const Place x = place(p.x), y = place(p.y), z = place(p.z);
  return lerp(layer(x, y, z.cell), layer(x, y, z.cell + 1), z.blend);
}

float noise(Vec2f p) { return layer(place(p.x), place(p.y), 0); }

}  // namespace stipple::synth
