// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "stipple/scene/scene.h"

namespace stipple {

struct DepthRange {  // scene units
  float near = 0, far = 0;
};

// The depths between which the points lie that a camera sees, apart from a few that may be wrong. Nothing if
// it sees hardly any.
std::optional<DepthRange> depth_range(const Points& points, const Camera& camera);

}  // namespace stipple
