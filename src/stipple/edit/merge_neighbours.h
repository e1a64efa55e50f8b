// SPDX-License-Identifier: Apache-2.0
#pragma once
// A coarser model that looks the same from a distance.
#include <cstddef>

#include "stipple/core/gaussians.h"

namespace stipple {

// Merges neighbours in pairs, those first whose merging changes least, until `count` Gaussians are left. A
// merged Gaussian has the mean and the covariance of both together; each counts by its opacity times its
// area, and so do its harmonics. Its opacity times its area is the sum of both, as far as one can be opaque.
// Gaussians whose mean is not finite are left out, unless there are no others; other values must be finite,
// except for opacities, or are not in the result either. The result is the same for any number of threads.
Gaussians merge_neighbours(Gaussians gaussians, std::size_t count);

}  // namespace stipple
