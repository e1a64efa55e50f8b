// SPDX-License-Identifier: Apache-2.0
#pragma once
// Measures how well a model reproduces photographed views.
#include <span>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/evaluate/evaluation.h"
#include "stipple/image/image.h"
#include "stipple/photo/photo_cache.h"
#include "stipple/scene/scene.h"

namespace stipple {

// A photo's colours, scaled to 0 .. 1, in 3 channels; a cut-out is shown in front of the background.
Image image_of(const Photo& photo, Vec3f background);

// Pixels are weighted by the photo's weights (image/image.h, image/ssim.h). The background is that of the
// render.
ViewScore score(const std::string& name, const Image& render, const Photo& photo, Vec3f background);

// Scores the views whose indices are in `which`, in that order. A photo in which no pixel counts has NaN as
// scores and is left out of the means. Calls photos.prefetch(), which replaces any earlier order.
Evaluation evaluate(Backend& backend, const DeviceGaussians& gaussians, const std::vector<SceneView>& views,
                    std::span<const std::size_t> which, PhotoCache& photos, const RenderOptions& options,
                    const EvaluationProgress& progress = {});

// The same with a model of which every rank has a part. A rank loads and scores the photos of the views that
// it draws, and every rank gets the scores of all.
Evaluation evaluate(Backend& backend, RankLink& link, const DeviceGaussians& part,
                    const std::vector<SceneView>& views, std::span<const std::size_t> which,
                    PhotoCache& photos, const RenderOptions& options,
                    const EvaluationProgress& progress = {});

}  // namespace stipple
