// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "stipple/math/vec.h"

namespace stipple {

// The mean squared distance of each point to its `count` nearest neighbours, or to all others if there are
// fewer; 1 if there are none. The points must be finite.
std::vector<float> neighbour_distances2(const std::vector<Vec3f>& points, std::size_t count);

inline constexpr std::uint32_t kNoNeighbour = std::numeric_limits<std::uint32_t>::max();

// The indices of the `count` nearest other points of each point, nearest first, at [point * count + rank];
// kNoNeighbour for ranks beyond all others. The points must be finite.
std::vector<std::uint32_t> nearest_neighbours(const std::vector<Vec3f>& points, std::size_t count);

}  // namespace stipple
