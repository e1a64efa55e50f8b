// SPDX-License-Identifier: Apache-2.0
#pragma once
// Checks hand-written vector-Jacobian products (VJPs) against exact derivatives from dual numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <span>

#include "stipple/math/dual.h"
#include "stipple/math/math.h"

namespace stipple {

inline constexpr int kTrials = 1000;         // random inputs per function and branch
inline constexpr double kTolerance = 1e-10;  // relative, in double

inline double uniform(std::mt19937& rng, double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(rng);
}

// The components of a struct. Every struct that the maths differentiates is a packed list of reals.
template <class real, class Struct>
std::span<real> reals(Struct& s) {
  static_assert(sizeof(Struct) % sizeof(real) == 0);
  return {reinterpret_cast<real*>(&s), sizeof(Struct) / sizeof(real)};
}

template <class Struct>
Struct random_struct(std::mt19937& rng, double low, double high) {
  Struct s;
  for (double& v : reals<double>(s)) v = uniform(rng, low, high);
  return s;
}

// x as dual numbers: component i carries the derivative with respect to component i.
template <template <class> class In>
auto seed(const In<double>& x) {
  constexpr int n = sizeof(In<double>) / sizeof(double);
  using D = Dual<n>;
  In<double> copy = x;
  In<D> seeded;
  for (int i = 0; i < n; ++i) reals<D>(seeded)[i] = D(reals<double>(copy)[i], i);
  return seeded;
}

// Expects g to be dL/dx, computed by the chain rule from the exact derivatives of y. The error of each
// component is relative to the sum of the magnitudes of its terms, so that cancellation does not affect the
// tolerance.
template <class In, class OutDual, class Weights>
void expect_gradient(In g, OutDual y, Weights dL_dy, double tolerance = kTolerance) {
  constexpr int n = sizeof(In) / sizeof(double);
  using D = Dual<n>;
  auto gs = reals<double>(g);
  auto ys = reals<D>(y);
  auto ws = reals<double>(dL_dy);
  ASSERT_EQ(ys.size(), ws.size());
  for (int i = 0; i < n; ++i) {
    double exact = 0, magnitude = 1e-300;
    for (std::size_t k = 0; k < ys.size(); ++k) {
      exact += ws[k] * ys[k].d[i];
      magnitude += std::abs(ws[k] * ys[k].d[i]);
    }
    ASSERT_LE(std::abs(gs[i] - exact) / magnitude, tolerance)
        << "input " << i << ": " << gs[i] << " instead of " << exact;
  }
}

// Expects vjp(x, dL_dy) to be the gradient of f at x, for a random dL_dy.
template <template <class> class In, template <class> class Out, class F, class Vjp>
void expect_vjp(std::mt19937& rng, const In<double>& x, F f, Vjp vjp, double tolerance = kTolerance) {
  auto y = f(seed<In>(x));
  auto dL_dy = random_struct<Out<double>>(rng, -1, 1);
  expect_gradient<In<double>>(vjp(x, dL_dy), y, dL_dy, tolerance);
}

// The input of project(), with the six independent entries of the covariance as variables. The nine entries
// of the matrix are not independent, and the VJPs return the symmetric gradient.
template <class T>
struct PackedPlaced {
  Vec3<T> mean;
  typename Math<T>::PackedCovariance covariance;

  typename Math<T>::Placed placed() const { return {mean, Math<T>::unpack_covariance(covariance)}; }
};

inline PackedPlaced<double> pack_gradient(const Math<double>::Placed& g) {
  return {g.mean, Math<double>::unpack_covariance_vjp(g.covariance)};
}

inline PackedPlaced<double> pack(Vec3<double> mean, const Mat3<double>& S) {
  return {mean, {S[0][0], S[0][1], S[0][2], S[1][1], S[1][2], S[2][2]}};
}

template <class Struct>
bool all_finite(Struct s) {
  for (float v : reals<float>(s))
    if (!std::isfinite(v)) return false;
  return true;
}

}  // namespace stipple
