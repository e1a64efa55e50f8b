// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/math/vec.h"

namespace stipple {

// Indices of the points in the order of a Morton curve, so that neighbours in space become neighbours in
// memory. Ties are ordered by index. Any coordinates are allowed; a NaN counts as one of the smallest.
std::vector<std::uint32_t> curve_order(std::span<const Vec3f> points);

}  // namespace stipple
