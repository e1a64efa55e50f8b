// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "stipple/scene/scene.h"

namespace stipple {

// The depth at which the points that a camera sees begin, apart from a few that may be wrong, in scene units.
// Nothing if it sees hardly any.
std::optional<float> near_points(const Points& points, const Camera& camera);

}  // namespace stipple
