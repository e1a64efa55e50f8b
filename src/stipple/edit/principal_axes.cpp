// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/principal_axes.h"

#include <algorithm>
#include <cmath>

namespace stipple {

namespace {

// Turns axes p and q so that entry (p, q) of the covariance becomes 0.
void turn(int p, int q, Mat3<double>& c, Mat3<double>& axes) {
  if (c[p][q] == 0) return;
  const double cotangent_twice = (c[q][q] - c[p][p]) / (2 * c[p][q]);
  const double tangent = std::copysign(
      1 / (std::abs(cotangent_twice) + std::sqrt(cotangent_twice * cotangent_twice + 1)), cotangent_twice);
  const double cosine = 1 / std::sqrt(tangent * tangent + 1), sine = tangent * cosine;
  for (int k = 0; k < 3; ++k) {  // columns
    const double a = c[p][k], b = c[q][k];
    c[p][k] = cosine * a - sine * b;
    c[q][k] = sine * a + cosine * b;
  }
  for (int k = 0; k < 3; ++k) {  // rows
    const double a = c[k][p], b = c[k][q];
    c[k][p] = cosine * a - sine * b;
    c[k][q] = sine * a + cosine * b;
  }
  const Vec3<double> a = axes[p], b = axes[q];
  axes[p] = a * cosine - b * sine;
  axes[q] = a * sine + b * cosine;
}

}  // namespace

PrincipalAxes principal_axes(Mat3<double> covariance) {
  constexpr int kMostSweeps = 12;  // convergence is quadratic: 5 are enough in practice
  PrincipalAxes result;
  result.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const auto off_diagonal = [&] {
    return std::abs(covariance[0][1]) + std::abs(covariance[0][2]) + std::abs(covariance[1][2]);
  };
  for (int sweep = 0; sweep < kMostSweeps && off_diagonal() > 0; ++sweep) {
    turn(0, 1, covariance, result.rotation);
    turn(0, 2, covariance, result.rotation);
    turn(1, 2, covariance, result.rotation);
  }
  for (int k = 0; k < 3; ++k) result.variance[k] = std::max(0.0, covariance[k][k]);
  return result;  // products of rotations are rotations
}

}  // namespace stipple
