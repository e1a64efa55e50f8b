// SPDX-License-Identifier: Apache-2.0
#pragma once
// How well a model shows views that were photographed.
#include <span>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/evaluate/evaluation.h"
#include "stipple/image/image.h"
#include "stipple/photo/photo_cache.h"
#include "stipple/scene/scene.h"

namespace stipple {

// A photo's colours, 0 to 1, in 3 channels.
Image image_of(const Photo& photo);

// Pixels count by the photo's weights (image/image.h, image/ssim.h).
ViewScore score(const std::string& name, const Image& render, const Photo& photo);

// Scores of the views whose indices are in `which`, in that order. A photo in which no pixel counts has
// scores that are no numbers; the means leave it out. The photos are prefetched, which ends an order given
// before.
Evaluation evaluate(Backend& backend, const DeviceGaussians& gaussians, const std::vector<SceneView>& views,
                    std::span<const std::size_t> which, PhotoCache& photos, const RenderOptions& options,
                    const EvaluationProgress& progress = {});

}  // namespace stipple
