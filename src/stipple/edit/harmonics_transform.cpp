// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/harmonics_transform.h"

#include <array>
#include <cmath>
#include <vector>

#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr double kRounding = 1e-13;  // of an entry, which is a sum of 26 products

struct Node {
  Vec3<double> direction;
  double weight;
};

// Integrates polynomials of degree up to 7 over the unit sphere exactly, from their values at the vertices,
// the edges and the corners of a cube. V. I. Lebedev, "Quadratures on a sphere", 1976.
std::vector<Node> quadrature() {
  constexpr std::array<double, 4> kWeight = {0, 1 / 21.0, 4 / 105.0, 9 / 280.0};  // by non-zero coordinates
  std::vector<Node> nodes;
  for (int x = -1; x <= 1; ++x)
    for (int y = -1; y <= 1; ++y)
      for (int z = -1; z <= 1; ++z) {
        const int squared = x * x + y * y + z * z;
        if (squared == 0) continue;
        nodes.push_back({Vec3<double>(x, y, z) * (1 / std::sqrt(squared)),
                         4 * M_PI * kWeight[static_cast<std::size_t>(squared)]});
      }
  return nodes;
}

// Reflections and turns by 90 degrees have entries of 0 and 1, and then coefficients keep their bits.
double without_rounding(double entry) {
  const double whole = std::round(entry);
  return std::abs(entry - whole) < kRounding ? whole : entry;
}

int first_of(int degree) { return degree * degree; }

}  // namespace

// g(d) = f(Q^T d) = sum_k f_k basis_k(Q^T d). The basis is orthonormal, so that the coefficient j of g is the
// integral of basis_j(d) g(d), a polynomial of degree 6 at most.
HarmonicsTransform::HarmonicsTransform(const Mat3<double>& q) : entry_{} {
  for (const Node& node : quadrature()) {
    const auto at = Math<double>::harmonic_basis(3, node.direction);
    const auto before = Math<double>::harmonic_basis(3, transpose(q) * node.direction);
    for (int degree = 0; degree <= 3; ++degree)
      for (int j = first_of(degree); j < first_of(degree + 1); ++j)
        for (int k = first_of(degree); k < first_of(degree + 1); ++k)
          entry_[j][k] += node.weight * at.b[j] * before.b[k];
  }
  for (auto& row : entry_)
    for (double& entry : row) entry = without_rounding(entry);
}

void HarmonicsTransform::apply(int degree, Vec3f* sh) const {
  for (int band = 1; band <= degree; ++band) {
    const int first = first_of(band), count = 2 * band + 1;
    std::array<Vec3<double>, 7> from;
    for (int k = 0; k < count; ++k) from[k] = {sh[first + k].x, sh[first + k].y, sh[first + k].z};
    for (int j = 0; j < count; ++j) {
      Vec3<double> sum(0, 0, 0);
      for (int k = 0; k < count; ++k) sum = sum + from[k] * entry_[first + j][first + k];
      sh[first + j] = {static_cast<float>(sum.x), static_cast<float>(sum.y), static_cast<float>(sum.z)};
    }
  }
}

}  // namespace stipple
