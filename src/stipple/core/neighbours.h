// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include "stipple/math/vec.h"

namespace stipple {

// The mean squared distance of each point to its `count` nearest neighbours, or to all others if there are
// fewer; 1 if there are none. The points must be finite.
std::vector<float> neighbour_distances2(const std::vector<Vec3f>& points, std::size_t count);

}  // namespace stipple
