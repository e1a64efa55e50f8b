// SPDX-License-Identifier: Apache-2.0
#pragma once
// The boxes of streamed SOG.
#include <cmath>
#include <cstdint>
#include <span>

#include "stipple/core/gaussians.h"

namespace stipple {

struct LodBox {
  Vec3f low{INFINITY, INFINITY, INFINITY}, high{-INFINITY, -INFINITY, -INFINITY};

  void add(const Vec3f& from, const Vec3f& to);
};

// The box of what can be seen of these Gaussians.
LodBox box_of(const Gaussians& gaussians, std::span<const std::uint32_t> rows);

}  // namespace stipple
