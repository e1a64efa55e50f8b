// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which Gaussians a model can do without. This needs no rendering, and so no device: it is for models that a
// device cannot hold.
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/core/gaussians.h"
#include "stipple/scene/scene.h"

namespace stipple {

// Of every Gaussian, its opacity times the area that it covers in pictures of the given views, in pixels; 0
// if that is not a number.
std::vector<float> importance(const Gaussians& gaussians, const Scene& scene,
                              std::span<const std::size_t> views);

// The rows of the `most` most important Gaussians, in their order.
std::vector<std::uint32_t> most_important(const Gaussians& gaussians, std::size_t most, const Scene& scene,
                                          std::span<const std::size_t> views);

// The same where no views are known: a Gaussian counts by its opacity times the area of its largest cross
// section.
std::vector<std::uint32_t> most_important(const Gaussians& gaussians, std::size_t most);

}  // namespace stipple
