// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/core/gaussians.h"

namespace stipple {

// Gives a model harmonics up to this degree, in place: higher ones are dropped, and missing ones are zero.
void set_sh_degree(Gaussians& gaussians, int degree);

}  // namespace stipple
