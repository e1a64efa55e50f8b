// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/math/vec.h"

namespace stipple {

// Indices of the points, so that every `chunk_size` in a row (fewer in the last chunk) lie in a small box:
// the points are halved across their longest side until a half is one chunk. A space-filling curve does not
// do as well, because the few points far away from the rest share cells and so spoil chunks of nearby points.
// Coordinates that are not finite count as 0. Ties, and the points of a chunk, are ordered by index.
std::vector<std::uint32_t> chunk_order(std::span<const Vec3f> points, std::size_t chunk_size);

}  // namespace stipple
