// SPDX-License-Identifier: Apache-2.0
#pragma once
// Spherical harmonics of a model that is rotated or reflected.
#include "stipple/math/vec.h"

namespace stipple {

// Maps the coefficients of a function f on the sphere to those of g with g(Q d) = f(d), for an orthogonal Q.
// Q maps the functions of each degree to functions of the same degree, so there is one matrix per degree.
class HarmonicsTransform {
 public:
  explicit HarmonicsTransform(const Mat3<double>& q);

  // The coefficients of one Gaussian, (degree + 1)^2 of them.
  void apply(int degree, Vec3f* sh) const;

  // The matrix: the coefficient `row` of g is the sum over `column` of entry(row, column) times that of f.
  // Both are indices of the same degree, 0 to 3.
  double entry(int row, int column) const { return entry_[row][column]; }

 private:
  double entry_[16][16];
};

}  // namespace stipple
