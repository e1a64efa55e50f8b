// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "stipple/camera/lens.h"
#include "stipple/camera/polynomial.h"

namespace stipple {

// project() and unproject() of lens.h for many points: precomputes what depends on the lens alone.
class LensProjection {
 public:
  explicit LensProjection(const Lens& lens);

  std::optional<Vec2<double>> project(Vec3<double> p_in_camera) const;
  std::optional<Vec3<double>> unproject(Vec2<double> pixel) const;

 private:
  // Below, a radius is r = |(u, v)| for a perspective lens and theta for a fisheye.
  template <class T>
  T radial_factor(T radius_squared) const;
  template <class T>
  T distorted_radius(T radius) const;
  template <class T>
  Vec2<T> distort(Vec2<T> uv) const;

  double find_limit() const;
  std::optional<Vec2<double>> perspective(Vec3<double> p_in_camera) const;
  std::optional<Vec2<double>> fisheye(Vec3<double> p_in_camera) const;
  double undistorted_radius(double distorted) const;
  Vec2<double> refine(Vec2<double> uv, Vec2<double> distorted) const;
  Vec3<double> direction(Vec2<double> distorted) const;

  Lens lens_;
  bool is_fisheye_, has_tangential_;
  Polynomial numerator_, denominator_;  // of the radial factor, in radius^2
  double limit_;  // the radius at which the distortion folds back; infinite for a pinhole
};

}  // namespace stipple
