// SPDX-License-Identifier: Apache-2.0
#include "stipple/camera/lens.h"

#include <algorithm>

#include "stipple/camera/lens_projection.h"

namespace stipple {

bool Lens::is_pinhole() const {
  const auto is_zero = [](double coefficient) { return coefficient == 0; };
  return kind == Kind::kPerspective && std::all_of(radial.begin(), radial.end(), is_zero) &&
         std::all_of(tangential.begin(), tangential.end(), is_zero);
}

Lens resized(const Lens& lens, int width_px, int height_px) {
  const Vec2<double> scale{static_cast<double>(width_px) / lens.width_px,
                           static_cast<double>(height_px) / lens.height_px};
  Lens result = lens;
  result.width_px = width_px;
  result.height_px = height_px;
  result.focal_px = lens.focal_px * scale;
  result.center_px = lens.center_px * scale;
  return result;
}

std::optional<Vec2<double>> project(const Lens& lens, Vec3<double> p_in_camera) {
  return LensProjection(lens).project(p_in_camera);
}

std::optional<Vec3<double>> unproject(const Lens& lens, Vec2<double> pixel) {
  return LensProjection(lens).unproject(pixel);
}

}  // namespace stipple
