// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a conversion cost in quality.
#include <string>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct ViewCost {        // PSNR in dB
  std::string view;      // its name
  double between = 0;    // of the two models' pictures; infinite if they are equal
  double original = 0;   // of the original against the photo
  double converted = 0;  // of the converted model against the photo
};

struct ConversionCost {
  std::vector<ViewCost> views;
  ViewCost mean;  // over the views; `between` is that of the mean squared error, since some may be infinite
  std::size_t view_count = 0;  // of those that could have been chosen
};

// Renders both models, which must be in the frame of the scene, from its test views or if it has none, from
// its training views. If there are many, from some that are spread evenly over them.
ConversionCost conversion_cost(Backend& backend, const Gaussians& original, const Gaussians& converted,
                               const Scene& scene, const RenderOptions& options);

void print_cost(const ConversionCost& cost);

}  // namespace stipple
