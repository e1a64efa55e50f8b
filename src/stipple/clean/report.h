// SPDX-License-Identifier: Apache-2.0
#pragma once
// A picture that shows what was found in a model and what is left of it.
#include "stipple/clean/clean.h"
#include "stipple/image/image.h"

namespace stipple {

// One row for each of at most 6 cameras, evenly chosen: the model, the model in grey with each kind of defect
// in a strong colour, and the model without what was removed. A legend counts the kinds.
Image clean_report(Backend& backend, const Gaussians& gaussians, const CleanResult& result,
                   std::span<const Camera> cameras, const RenderOptions& options);

}  // namespace stipple
