// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "stipple/core/gaussians.h"

namespace stipple {

// For every Gaussian, 1 if all its values are finite, and otherwise 0.
std::vector<char> finite_flags(const Gaussians& gaussians);

// The Gaussians that can be rendered and trained: all their values are finite, and so are their scales, which
// are stored as logarithms.
std::vector<std::uint32_t> usable_rows(const Gaussians& gaussians);

}  // namespace stipple
