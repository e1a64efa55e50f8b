// SPDX-License-Identifier: Apache-2.0
// L1 and SSIM at one pixel, and one Adam update.
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

template <class T>
using Scalar = T;
template <class T>
using Means = typename Math<T>::WindowMeans;
using M = Math<double>;

TEST(Similarity, SsimVjpIsExact) {
  std::mt19937 rng(60);
  for (int i = 0; i < kTrials; ++i) {
    // Means of a realistic window: three random pairs of pixels with weights.
    Means<double> m = {};
    for (double weight : {0.5, 0.3, 0.2}) {
      double x = uniform(rng, 0, 1), y = uniform(rng, 0, 1);
      m.x += weight * x, m.y += weight * y;
      m.xx += weight * x * x, m.yy += weight * y * y, m.xy += weight * x * y;
    }
    expect_vjp<Means, Scalar>(
        rng, m, [](auto v) { return Math<decltype(v.x)>::ssim(v); }, M::ssim_vjp);
  }
}

TEST(Similarity, SsimOfEqualWindowsIsOne) {
  EXPECT_DOUBLE_EQ(M::ssim({0.4, 0.4, 0.25, 0.25, 0.25}), 1);
  EXPECT_DOUBLE_EQ(M::ssim({0, 0, 0, 0, 0}), 1);
}

TEST(Similarity, WindowWeightsSumToOne) {
  double sum = 0;
  for (int i = -M::ssim_window_radius_px; i <= M::ssim_window_radius_px; ++i) sum += M::ssim_window_weight(i);
  EXPECT_NEAR(sum, 1, 1e-14);
}

TEST(Similarity, AbsoluteDifferenceVjpIsExactOnBothSides) {
  std::mt19937 rng(61);
  int above = 0;
  for (int i = 0; i < 3 * kTrials; ++i) {
    double x = uniform(rng, 0, 1), y = uniform(rng, 0, 1);
    above += x > y;
    expect_vjp<Scalar, Scalar>(
        rng, x, [&](auto v) { return Math<decltype(v)>::absolute_difference(v, decltype(v)(y)); },
        [&](double v, double w) { return M::absolute_difference_vjp(v, y, w); });
  }
  EXPECT_GE(above, kTrials);
  EXPECT_LE(above, 2 * kTrials);
  EXPECT_EQ(M::absolute_difference_vjp(0.5, 0.5, 1), 0);
}

TEST(Adam, FirstStepMovesByTheLearningRateAgainstTheGradient) {
  M::AdamRule rule{0.01, 0.9, 0.999, 1e-15, 1 / (1 - 0.9), 1 / (1 - 0.999)};
  for (double gradient : {-3.0, 1e-6, 250.0}) {
    M::AdamParameter p = M::adam({1, 0, 0}, gradient, rule);
    EXPECT_NEAR(p.value, 1 - std::copysign(0.01, gradient), 1e-9);
    EXPECT_NEAR(p.first_moment, 0.1 * gradient, 1e-12 * std::abs(gradient));
    EXPECT_NEAR(p.second_moment, 0.001 * gradient * gradient, 1e-9 * gradient * gradient);
  }
}

TEST(Adam, FollowsTheReferenceRecurrence) {
  std::mt19937 rng(62);
  M::AdamParameter p{0.5, 0, 0};
  double value = 0.5, m = 0, v = 0;
  for (int step = 1; step <= kTrials; ++step) {
    double g = uniform(rng, -1, 1), c1 = 1 - std::pow(0.9, step), c2 = 1 - std::pow(0.999, step);
    p = M::adam(p, g, {0.01, 0.9, 0.999, 1e-8, 1 / c1, 1 / c2});
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    value -= 0.01 * (m / c1) / (std::sqrt(v / c2) + 1e-8);
    ASSERT_NEAR(p.value, value, 1e-12);
  }
}

TEST(Adam, ZeroGradientLeavesAFreshParameterUnchanged) {
  Math<float>::AdamParameter p =
      Math<float>::adam({1, 0, 0}, 0, {0.01f, 0.9f, 0.999f, 1e-15f, 10.0f, 1000.0f});
  EXPECT_EQ(p.value, 1.0f);
}

}  // namespace
}  // namespace stipple
