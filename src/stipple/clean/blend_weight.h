// SPDX-License-Identifier: Apache-2.0
#pragma once
// What each Gaussian contributes to a rendered view, measured with the stages of a backend.
#include <span>
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple {

// For every splat, in the rows of Projection::splat, the sum over the pixels of its blend weight (alpha times
// the transmittance in front of it) times the pixel's value. With 1 at every pixel, this is the area in which
// the Gaussian is seen; with the error of a pixel, its share of the error. Call it after forward() for the
// same view, which must have no id. It overwrites Pass::dL_dframe and Pass::dL_dsplat.
std::vector<float> blend_weights(Backend& backend, const View& view, std::span<const float> pixel_values,
                                 Pass& pass);

// For every splat, the sum over the pixels and channels of `planes` (the layout of Frame::color) times the
// change of the frame if its Gaussian alone were removed. Blending is linear in the alpha of each splat, so
// this is exact, except where an alpha is clamped to alpha_max: such a pixel does not count. Call it as
// above.
std::vector<float> removal_changes(Backend& backend, const View& view, std::span<const float> planes,
                                   Pass& pass);

}  // namespace stipple
