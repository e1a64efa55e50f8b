// SPDX-License-Identifier: Apache-2.0
#include "stipple/camera/partial_lens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"

namespace stipple {

namespace {

// Far beyond any real lens, but within the range of the 32-bit numbers of Camera.
constexpr double kMinFocal_px = 1e-3, kMaxPixel = 1e9;

}  // namespace

PartialLens::PartialLens(const Lens& lens)
    : width_px(lens.width_px),
      height_px(lens.height_px),
      focal_x_px(lens.focal_px.x),
      focal_y_px(lens.focal_px.y),
      center_x_px(lens.center_px.x),
      center_y_px(lens.center_px.y),
      distortion(lens) {}

Lens resolve_lens(const PartialLens& from, int width_px, int height_px) {
  Lens lens = from.distortion;
  const double w = from.width_px.value_or(width_px), h = from.height_px.value_or(height_px);
  const auto side = [](double v) { return v >= 1 && v <= 65536; };
  if (!side(w) || !side(h))
    throw Error(fmt::format("its size is {} x {}; both sides must be from 1 to 65536 pixels", w, h));
  const auto focal = [](double size, std::optional<double> angle) -> std::optional<double> {
    if (angle) return 0.5 * size / std::tan(0.5 * *angle);
    return {};
  };
  std::optional<double> x = from.focal_x_px ? from.focal_x_px : focal(w, from.field_of_view_x_rad);
  std::optional<double> y = from.focal_y_px ? from.focal_y_px : focal(h, from.field_of_view_y_rad);
  const double longer = std::max(w, h);
  if (!x && from.focal_of_side) x = *from.focal_of_side * longer;
  if (!x) x = y;
  if (!y) y = x;
  if (!x) throw Error("the focal length is missing: set fl_x, camera_angle_x or x_fov");
  if (!(*x > kMinFocal_px && *y > kMinFocal_px && *x < kMaxPixel && *y < kMaxPixel))
    throw Error(fmt::format("the focal length of {} x {} pixels is invalid", *x, *y));
  lens.focal_px = {*x, *y};
  lens.center_px = {from.center_x_px.value_or(w / 2 + from.center_x_of_side.value_or(0) * longer),
                    from.center_y_px.value_or(h / 2 + from.center_y_of_side.value_or(0) * longer)};
  if (!(std::abs(lens.center_px.x) < kMaxPixel && std::abs(lens.center_px.y) < kMaxPixel))
    throw Error(fmt::format("the principal point ({}, {}) is invalid", lens.center_px.x, lens.center_px.y));
  lens.width_px = static_cast<int>(w);
  lens.height_px = static_cast<int>(h);
  if (lens.model.empty())  // named after its distortion
    lens.model = lens.is_pinhole()                   ? "PINHOLE"
                 : lens.kind == Lens::Kind::kFisheye ? "OPENCV_FISHEYE"
                                                     : "OPENCV";
  return lens;
}

}  // namespace stipple
