// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// How a camera maps directions to pixels: focal lengths, principal point and distortion, in double. With
// u = x / z and v = y / z in the camera's frame, r^2 = u^2 + v^2 and theta the angle from the optical axis,
// the distorted (u', v') are
//
//   perspective  (u, v) (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6)
//                + (2 p1 u v + p2 (r^2 + 2 u^2), p1 (r^2 + 2 v^2) + 2 p2 u v)
//   fisheye      (x, y) / |(x, y)| theta (1 + k1 theta^2 + k2 theta^4 + k3 theta^6 + k4 theta^8)
//
// and the pixel is (fx u' + cx, fy v' + cy). These are COLMAP's and OpenCV's formulas.
#include <array>
#include <optional>
#include <string>

#include "stipple/math/vec.h"

namespace stipple {

struct Lens {
  enum class Kind { kPerspective, kFisheye };
  std::string model;  // COLMAP's name, such as "SIMPLE_RADIAL"; used in messages
  Kind kind = Kind::kPerspective;
  Vec2<double> focal_px{0, 0};
  Vec2<double> center_px{0, 0};  // (0, 0) is the image's top-left corner
  int width_px = 0, height_px = 0;
  std::array<double, 6> radial{};      // k1 .. k6; a fisheye uses the first four
  std::array<double, 2> tangential{};  // p1, p2

  // Whether all distortion coefficients are zero. A fisheye is never a pinhole.
  bool is_pinhole() const;
  bool operator==(const Lens&) const = default;
};

// The same lens for an image scaled to another size.
Lens resized(const Lens& lens, int width_px, int height_px);

// Projects a point in the camera's frame to pixels. Returns nothing if the lens cannot see the point: it lies
// behind a perspective camera, or beyond the angle at which the distortion folds back onto itself.
// LensProjection is faster for many points.
std::optional<Vec2<double>> project(const Lens& lens, Vec3<double> p_in_camera);

// The unit direction, in the camera's frame, that projects to a pixel; nothing if no direction does.
std::optional<Vec3<double>> unproject(const Lens& lens, Vec2<double> pixel);

}  // namespace stipple
