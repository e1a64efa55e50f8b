// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>

#include "stipple/camera/lens.h"

namespace stipple {

// What a file says about a lens. Missing values follow from the image's size.
struct PartialLens {
  std::optional<double> width_px, height_px, focal_x_px, focal_y_px, center_x_px, center_y_px;
  std::optional<double> field_of_view_x_rad, field_of_view_y_rad;  // used if the focal length is missing
  // As fractions of the photo's longer side; used if the pixels are missing. The centre is relative to the
  // middle of the photo.
  std::optional<double> focal_of_side, center_x_of_side, center_y_of_side;
  Lens distortion;          // model, kind and coefficients
  std::string unsupported;  // a message if the lens cannot be undistorted, else empty

  PartialLens() = default;
  explicit PartialLens(const Lens& lens);  // a complete lens
};

// Completes the lens for an image of this size. Throws Error if it is invalid or has no focal length.
Lens resolve_lens(const PartialLens& lens, int width_px, int height_px);

}  // namespace stipple
