// SPDX-License-Identifier: Apache-2.0
// The error of a pixel's depth.
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

template <class T>
using Scalar = T;
template <class T>
using Pixel = typename Math<T>::DepthPixel;
using M = Math<double>;

TEST(DepthError, VjpIsExactOnBothSides) {
  std::mt19937 rng(70);
  int nearer = 0;
  for (int i = 0; i < 3 * kTrials; ++i) {
    const double known = uniform(rng, 0.1, 2), alpha = uniform(rng, 0.1, 1);
    const Pixel<double> pixel{alpha * uniform(rng, 0.1, 2), alpha};
    nearer += pixel.inverse_depth > alpha * known;
    expect_vjp<Pixel, Scalar>(
        rng, pixel,
        [&](auto v) {
          using T = decltype(v.alpha);
          return Math<T>::depth_error(v, T(known));
        },
        [&](Pixel<double> v, double w) { return M::depth_error_vjp(v, known, w); });
  }
  EXPECT_GE(nearer, kTrials);
  EXPECT_LE(nearer, 2 * kTrials);
}

TEST(DepthError, IsZeroAtTheKnownDepthHoweverFaintThePixel) {
  for (const double alpha : {0.0, 0.3, 1.0}) {
    EXPECT_EQ(M::depth_error({alpha * 0.25, alpha}, 0.25), 0);
    const Pixel<double> g = M::depth_error_vjp({alpha * 0.25, alpha}, 0.25, 1);
    EXPECT_EQ(g.inverse_depth, 0);
    EXPECT_EQ(g.alpha, 0);
  }
}

}  // namespace
}  // namespace stipple
