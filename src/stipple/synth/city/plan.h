// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the blocks of the city are. World frame: z up, the ground at z = 0, metres; the middle of the city is
// the origin.
#include <cstdint>

#include "stipple/math/vec.h"

namespace stipple::synth::city {

constexpr float kBlockSize = 60;  // between the middles of two parallel streets
constexpr float kRoad = 4.5f;     // half the width of the roadway
constexpr float kStreet = 7;      // half the width of the street with its pavements
constexpr float kTallest = 48;    // nothing is higher

// Streets run along the borders of the blocks, so that half of their width belongs to each side.
struct Place {
  int x, y;  // from 0 to the number of blocks along a side
  bool operator==(const Place&) const = default;
};

struct Plan {
  std::uint64_t seed;
  int block_count;  // along each side of the city

  float half_size() const { return kBlockSize * static_cast<float>(block_count) / 2; }
  // Of the sky, which the ground reaches.
  float dome_radius() const { return 400 + 3 * half_size(); }

  Vec3f middle_of(Place place) const {
    const auto at = [this](int i) { return (static_cast<float>(i) + 0.5f) * kBlockSize - half_size(); };
    return {at(place.x), at(place.y), 0};
  }
};

}  // namespace stipple::synth::city
