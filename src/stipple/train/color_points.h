// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "stipple/photo/photo_cache.h"
#include "stipple/scene/scene.h"

namespace stipple {

// The scene's points in the colours that training starts from: their own, or, if they lack colours or
// are random, those of the photos of these views. Each photo is requested once.
Points colored_points(const Scene& scene, std::span<const std::size_t> views, PhotoCache& photos);

}  // namespace stipple
