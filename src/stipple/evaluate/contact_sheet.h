// SPDX-License-Identifier: Apache-2.0
#pragma once
// Renders beside their photos, for people to look at.
#include "stipple/evaluate/evaluate.h"

namespace stipple {

// How far two pictures are apart, the mean over channels: black where they are equal, then blue, magenta and
// yellow to white at a difference of a quarter. It counts by the weight, 255 fully; no weights: all fully.
Image error_map(const Image& a, const Image& b, std::span<const std::uint8_t> weight = {});

// A row a view: render, photo and error map, with the view's name and scores below. At most 12 views, evenly
// chosen among those of `which`, whose scores are in the evaluation.
Image contact_sheet(Backend& backend, const DeviceGaussians& gaussians, const std::vector<SceneView>& views,
                    std::span<const std::size_t> which, const Evaluation& evaluation, PhotoCache& photos,
                    const RenderOptions& options);

}  // namespace stipple
