// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/math/vec.h"

namespace stipple {

struct PrincipalAxes {
  Vec3<double> variance;  // along each axis, never negative
  Mat3<double> rotation;  // its columns are the axes; a rotation, not a reflection
};

// The axes of the ellipsoid of a covariance, which must be symmetric and finite. Jacobi's method.
PrincipalAxes principal_axes(Mat3<double> covariance);

}  // namespace stipple
