// SPDX-License-Identifier: Apache-2.0
#pragma once
// How much each Gaussian of a model matters to its pictures.
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple {

// For every Gaussian, an estimate of the sum of the squared changes of all pixels and channels of pictures
// from these cameras, if it alone were removed: the squared error that its absence would cause. What no
// camera sees has 0. `progress` is called after each camera; it may throw to stop.
std::vector<float> picture_effects(Backend& backend, const Gaussians& gaussians,
                                   std::span<const Camera> cameras, const RenderOptions& options,
                                   const std::function<void()>& progress = {});

// The rows of all Gaussians, those with the largest effect first, and of equal ones the first.
std::vector<std::uint32_t> order_of_effects(std::span<const float> effects);

}  // namespace stipple
