// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "stipple/camera/lens.h"

namespace stipple {

// What a file tells of a lens. What it leaves out follows from the picture's size.
struct PartialLens {
  std::optional<double> width_px, height_px, focal_x_px, focal_y_px, center_x_px, center_y_px;
  std::optional<double> field_of_view_x_rad, field_of_view_y_rad;  // used where there is no focal length
  Lens distortion;                                                 // model, kind and coefficients
  std::string unsupported;  // a sentence, when it is not one that we can undistort

  PartialLens() = default;
  explicit PartialLens(const Lens& lens);  // nothing is left out
};

// A lens for a picture of this size. Throws Error when it has no focal length that makes sense.
Lens resolve_lens(const PartialLens& lens, int width_px, int height_px);

}  // namespace stipple
