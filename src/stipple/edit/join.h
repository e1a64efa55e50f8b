// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/core/gaussians.h"

namespace stipple {

// Appends a model to another one in the same frame. The result has the higher of their degrees of spherical
// harmonics. One array is moved at a time.
void append(Gaussians more, Gaussians& gaussians);

}  // namespace stipple
