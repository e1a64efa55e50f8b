// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/math/vec.h"

namespace stipple {

// The points' indices along a Morton curve, so that what is near in space is near in memory; ties by index.
std::vector<std::uint32_t> curve_order(std::span<const Vec3f> points);

}  // namespace stipple
