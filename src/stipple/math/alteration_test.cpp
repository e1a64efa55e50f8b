// SPDX-License-Identifier: Apache-2.0
// The 3D filter and dropout by themselves. gaussian_test.cpp checks them as a part of the whole computation.
#include <cmath>

#include "stipple/backend/render_settings.h"
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

using M = Math<double>;

template <class T>
struct FilterInput {
  Vec3<T> scale;
};

template <class T>
using FilterOutput = typename Math<T>::Filtered;

TEST(Filter, VjpIsExact) {
  std::mt19937 rng(64);
  for (const double variance : {0.0, 1e-6, 0.01, 4.0})
    for (int i = 0; i < kTrials; ++i)
      expect_vjp<FilterInput, FilterOutput>(
          rng, {random_struct<Vec3<double>>(rng, 0.01, 2)},
          [&](auto in) { return Math<decltype(in.scale.x)>::filtered(in.scale, variance); },
          [&](const FilterInput<double>& in, const M::Filtered& dL) {
            return FilterInput<double>{M::filtered_vjp(in.scale, variance, dL)};
          });
}

// The integral of a Gaussian is proportional to its opacity times the product of its scales.
TEST(Filter, KeepsTheIntegral) {
  const Vec3<double> scale(0.1, 0.02, 3);
  const M::Filtered f = M::filtered(scale, 0.25);
  EXPECT_NEAR(f.scale.y, std::sqrt(0.0004 + 0.25), 1e-15);
  EXPECT_NEAR(f.dimming * f.scale.x * f.scale.y * f.scale.z, scale.x * scale.y * scale.z, 1e-15);
}

TEST(Filter, OfVarianceZeroChangesNothing) {
  using F = Math<float>;
  for (const float tiny : {0.0f, 1e-30f, 0.1f}) {
    const Vec3f scale(tiny, 0.3f, 1e-25f), dL(1, 2, 3);
    const F::Filtered f = F::filtered(scale, 0);
    EXPECT_EQ(f.scale, scale);
    EXPECT_EQ(f.dimming, 1);
    EXPECT_EQ(F::filtered_vjp(scale, 0, {dL, 5}), dL);
  }
}

// The product of these variances is far outside the range of float.
TEST(Filter, StaysInRange) {
  using F = Math<float>;
  for (const float s : {1e-18f, 1e-9f, 1e9f, 1e18f}) {
    const F::Filtered same = F::filtered({s, s, s}, s * s);
    EXPECT_NEAR(same.dimming, std::pow(0.5f, 1.5f), 1e-6f) << s;
    const Vec3f d = F::filtered_vjp({s, s, s}, s * s, {{1, 1, 1}, s});
    for (int k = 0; k < 3; ++k) EXPECT_TRUE(std::isfinite(d[k])) << s;
  }
}

View view_with_dropout(float rate, std::uint64_t seed) {
  View view;
  view.dropout = {rate, seed};
  return view;
}

TEST(Dropout, LeavesOutTheGivenShareAndKeepsTheMean) {
  for (const float rate : {0.1f, 0.2f, 0.75f}) {
    const auto dropout = dropout_of(view_with_dropout(rate, 65));
    constexpr unsigned kCount = 100'000;
    double left_out = 0, sum = 0;
    for (unsigned i = 0; i < kCount; ++i) {
      const float factor = Math<float>::dropout_factor(i, dropout);
      EXPECT_TRUE(factor == 0 || factor == 1 / (1 - rate));
      left_out += factor == 0;
      sum += static_cast<double>(factor);
    }
    EXPECT_NEAR(left_out / kCount, static_cast<double>(rate), 0.005);
    EXPECT_NEAR(sum / kCount, 1, 0.02);
  }
}

TEST(Dropout, OfRateZeroLeavesOutNothing) {
  const auto dropout = dropout_of(view_with_dropout(0, 66));
  EXPECT_EQ(dropout.threshold, 0u);
  for (unsigned i = 0; i < 1000; ++i) EXPECT_EQ(Math<float>::dropout_factor(i, dropout), 1);
}

TEST(Dropout, DependsOnAllBitsOfTheSeed) {
  const auto first = dropout_of(view_with_dropout(0.5f, 67));
  for (const std::uint64_t other : {std::uint64_t{68}, std::uint64_t{67} | std::uint64_t{1} << 63}) {
    const auto second = dropout_of(view_with_dropout(0.5f, other));
    int differ = 0;
    for (unsigned i = 0; i < 1000; ++i)
      differ += Math<float>::dropout_factor(i, first) != Math<float>::dropout_factor(i, second);
    EXPECT_NEAR(differ, 500, 80);
  }
}

}  // namespace
}  // namespace stipple
