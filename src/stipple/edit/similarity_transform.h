// SPDX-License-Identifier: Apache-2.0
#pragma once
// Rotations, reflections, uniform scalings and translations, in double: what can be done to a model without
// changing what it looks like.
#include <span>
#include <string>

#include "stipple/math/vec.h"

namespace stipple {

struct SimilarityTransform {  // x_in_b = b_from_a.scale * (b_from_a.rotation * x_in_a) + b_from_a.translation
  Mat3<double> rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};  // orthogonal; a reflection if its determinant is -1
  double scale = 1;                                  // positive
  Vec3<double> translation{0, 0, 0};
};

bool operator==(const SimilarityTransform& a, const SimilarityTransform& b);

// c_from_a = c_from_b * b_from_a
SimilarityTransform operator*(const SimilarityTransform& c_from_b, const SimilarityTransform& b_from_a);

Vec3<double> operator*(const SimilarityTransform& b_from_a, Vec3<double> x_in_a);

SimilarityTransform inverse(const SimilarityTransform& b_from_a);

double determinant(const Mat3<double>& m);

// The transform with this matrix, of 3 or 4 rows of 4 numbers. Rounding in the numbers, up to 1e-4 of the
// scale, is removed. Throws Error if the matrix also shears, stretches, flattens or projects; `name` is
// what the error calls the matrix.
SimilarityTransform similarity_from_rows(std::span<const double> rows, const std::string& name);

// A rotation by these angles, in degrees: about the x axis first, then about y, then about z. Multiples of
// 90 degrees are exact.
SimilarityTransform rotation_about_axes(Vec3<double> degrees);

}  // namespace stipple
