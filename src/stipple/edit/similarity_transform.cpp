// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/similarity_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"

namespace stipple {

namespace {

constexpr double kRounding = 1e-4;  // of a matrix's entries, relative to its scale
constexpr int kPolishSteps = 4;     // each one squares the error

// The nearest orthogonal matrix to one that is almost orthogonal: Newton's method for the polar
// decomposition, Q <- (Q + Q^-T) / 2. An orthogonal matrix of zeros and ones stays exactly as it is.
Mat3<double> orthogonalized(Mat3<double> q) {
  for (int i = 0; i < kPolishSteps; ++i) {
    const Mat3<double> cofactors(cross(q[1], q[2]), cross(q[2], q[0]), cross(q[0], q[1]));
    q = (q + cofactors * (1 / determinant(q))) * 0.5;
  }
  return q;
}

// Whether Q^T Q is the identity.
bool is_orthogonal(const Mat3<double>& q) {
  for (int i = 0; i < 3; ++i)
    if (!(std::abs(dot(q[i], q[i]) - 1) <= 2 * kRounding &&
          std::abs(dot(q[i], q[(i + 1) % 3])) <= 2 * kRounding))
      return false;
  return true;
}

struct SineCosine {
  double sine, cosine;
};

SineCosine of_degrees(double degrees) {
  const double turn = std::remainder(degrees, 360);  // exact, and so are the multiples of 90
  if (turn == 0) return {0, 1};
  if (std::abs(turn) == 90) return {turn / 90, 0};
  if (std::abs(turn) == 180) return {0, -1};
  return {std::sin(turn * M_PI / 180), std::cos(turn * M_PI / 180)};
}

}  // namespace

bool operator==(const SimilarityTransform& a, const SimilarityTransform& b) {
  return a.rotation == b.rotation && a.scale == b.scale && a.translation == b.translation;
}

SimilarityTransform operator*(const SimilarityTransform& c_from_b, const SimilarityTransform& b_from_a) {
  return {c_from_b.rotation * b_from_a.rotation, c_from_b.scale * b_from_a.scale,
          c_from_b * b_from_a.translation};
}

Vec3<double> operator*(const SimilarityTransform& b_from_a, Vec3<double> x_in_a) {
  return b_from_a.rotation * x_in_a * b_from_a.scale + b_from_a.translation;
}

SimilarityTransform inverse(const SimilarityTransform& b_from_a) {
  const Mat3<double> rotation = transpose(b_from_a.rotation);
  const double scale = 1 / b_from_a.scale;
  return {rotation, scale, rotation * b_from_a.translation * -scale};
}

double determinant(const Mat3<double>& m) { return dot(m[0], cross(m[1], m[2])); }

SimilarityTransform similarity_from_rows(std::span<const double> rows, const std::string& name) {
  if (rows.size() != 12 && rows.size() != 16)
    throw Error(fmt::format("{}: a matrix has 12 or 16 numbers, 3 or 4 rows of 4, but this one has {}", name,
                            rows.size()));
  if (!std::all_of(rows.begin(), rows.end(), [](double v) { return std::isfinite(v); }))
    throw Error(fmt::format("{}: the matrix has a number that is not finite", name));
  const auto column = [&](std::size_t k) { return Vec3<double>(rows[k], rows[4 + k], rows[8 + k]); };
  if (rows.size() == 16 && !(rows[12] == 0 && rows[13] == 0 && rows[14] == 0 && rows[15] == 1))
    throw Error(fmt::format("{}: the last row of the matrix must be 0 0 0 1", name));
  const Mat3<double> m(column(0), column(1), column(2));
  SimilarityTransform result;
  result.scale = std::cbrt(std::abs(determinant(m)));
  const Mat3<double> q = m * (1 / result.scale);
  if (!std::isnormal(result.scale) || !is_orthogonal(q))
    throw Error(fmt::format(
        "{}: the matrix flattens or shears the model, or scales its axes differently; a model can only be "
        "rotated, reflected, scaled uniformly and moved",
        name));
  result.rotation = orthogonalized(q);
  result.translation = column(3);
  return result;
}

SimilarityTransform rotation_about_axes(Vec3<double> degrees) {
  const auto [sx, cx] = of_degrees(degrees.x);
  const auto [sy, cy] = of_degrees(degrees.y);
  const auto [sz, cz] = of_degrees(degrees.z);
  const Mat3<double> x(1, 0, 0, 0, cx, sx, 0, -sx, cx);
  const Mat3<double> y(cy, 0, -sy, 0, 1, 0, sy, 0, cy);
  const Mat3<double> z(cz, sz, 0, -sz, cz, 0, 0, 0, 1);
  return {z * y * x};
}

}  // namespace stipple
