// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run can start from a model instead of the points of its scene.
#include <cstdint>
#include <span>

#include "stipple/core/gaussians.h"
#include "stipple/scene/scene.h"
#include "stipple/train/train_options.h"

namespace stipple {

// The part of a model that a run with these options and views can start from: without Gaussians that cannot
// be trained (a value is not finite, or a scale overflows), and with the most important ones up to
// options.max_gaussians and harmonics up to options.sh_degree. Throws Error if no Gaussian remains, or if
// no view shows one larger than a fraction of a pixel: then the model is not in the frame of the scene.
Gaussians start_gaussians(Gaussians model, const Scene& scene, std::span<const std::size_t> views,
                          const TrainOptions& options);

// A number that tells one model to start from from another.
std::uint32_t fingerprint(const Gaussians& model);

}  // namespace stipple
