// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where most of a model is: a few Gaussians far out, which every trained model has, do not count.
#include "stipple/core/gaussians.h"

namespace stipple {

struct RobustBounds {
  Vec3f low{0, 0, 0}, high{0, 0, 0};  // 2 % of the Gaussians lie outside along each axis, at either end
  Vec3f middle{0, 0, 0};              // the median of each coordinate
  // Of a ball around the middle that would have the same median distance from it, if it were filled evenly.
  // What surrounds the subject of a scene, however far away it is, hardly counts.
  float radius = 1;
};

// A Gaussian counts by its opacity. Of many Gaussians, some are looked at. Those whose mean is not finite do
// not count, and if there are no others, the bounds are a ball of radius 1 at the origin.
RobustBounds robust_bounds(const Gaussians& gaussians);

}  // namespace stipple
