// SPDX-License-Identifier: Apache-2.0
#pragma once
// Renders next to their photos, for visual comparison.
#include "stipple/evaluate/evaluate.h"

namespace stipple {

// The difference of two images, averaged over the channels: black where they are equal, then blue, magenta
// and yellow, to white at a difference of a quarter. It is multiplied by weight / 255, if weights are given.
Image error_map(const Image& a, const Image& b, std::span<const std::uint8_t> weight = {});

// One row per view: render, photo and error map, with the view's name and scores below. Shows at most 12
// views, evenly chosen from `which`, whose scores are in `evaluation`.
Image contact_sheet(Backend& backend, const DeviceGaussians& gaussians, const std::vector<SceneView>& views,
                    std::span<const std::size_t> which, const Evaluation& evaluation, PhotoCache& photos,
                    const RenderOptions& options);

}  // namespace stipple
