// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>

#include "stipple/math/vec.h"

namespace stipple::synth {

// A position in a sequence of points that fill the unit square evenly from any index on, so that consecutive
// samples of a pixel cover different parts of the sun.
struct SquareSequence {
  Vec2f start;  // in the unit square
  int index = 0;

  // Roberts' R2 sequence, a two-dimensional golden ratio: steps of 1/g and 1/g^2, where g^3 = g + 1.
  Vec2f at(int i) const {
    const auto n = static_cast<float>(index + i);
    const float x = start.x + n * 0.75487767f, y = start.y + n * 0.56984029f;
    return {x - std::floor(x), y - std::floor(y)};
  }
};

// Maps the unit square uniformly to the unit disc.
inline Vec2f on_disc(Vec2f u) {
  const float radius = std::sqrt(u.x), angle = 6.2831853f * u.y;
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace stipple::synth
