// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "stipple/core/gaussians.h"

namespace stipple {

// For every Gaussian, 1 if all its values are finite, and otherwise 0.
std::vector<char> finite_flags(const Gaussians& gaussians);

}  // namespace stipple
