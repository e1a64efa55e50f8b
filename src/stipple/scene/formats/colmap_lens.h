// SPDX-License-Identifier: Apache-2.0
#pragma once
// COLMAP's camera models.
#include <optional>
#include <span>
#include <string_view>

#include "stipple/camera/lens.h"

namespace stipple {

struct ColmapLensModel {
  std::string_view name;
  int parameter_count;
  bool is_supported;
};

// Looks up a model by its number in cameras.bin or its name in cameras.txt; none if COLMAP has no such model.
std::optional<ColmapLensModel> find_colmap_lens_model(int id);
std::optional<ColmapLensModel> find_colmap_lens_model(std::string_view name);

// Makes a lens from COLMAP's parameters, which must be model.parameter_count values in the model's order.
// Throws Error if the model is not supported, a focal length is not positive, or a parameter is not finite.
Lens make_colmap_lens(const ColmapLensModel& model, int width_px, int height_px,
                      std::span<const double> parameters);

}  // namespace stipple
