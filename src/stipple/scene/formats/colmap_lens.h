// SPDX-License-Identifier: Apache-2.0
#pragma once
// COLMAP's camera models.
#include <optional>
#include <span>
#include <string_view>

#include "stipple/camera/lens.h"

namespace stipple {

// One of COLMAP's camera models.
struct ColmapLensModel {
  std::string_view name;
  int parameter_count;
  bool is_supported;
};

// By the number in cameras.bin or the name in cameras.txt; none when COLMAP has no such model.
std::optional<ColmapLensModel> find_colmap_lens_model(int id);
std::optional<ColmapLensModel> find_colmap_lens_model(std::string_view name);

// A lens from COLMAP's parameters, in the model's order. Throws Error naming a model that is not supported:
// 'camera model FOV is not supported; undistort the images first, for example with "colmap
// image_undistorter"', or one whose focal length is not positive or parameters are not finite. Parameters
// must be as many as the model has.
Lens make_colmap_lens(const ColmapLensModel& model, int width_px, int height_px,
                      std::span<const double> parameters);

}  // namespace stipple
