// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/flip_axes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stipple/math/math.h"
#include "tests/helpers/ply_builder.h"

namespace stipple {
namespace {

using M = Math<float>;

Gaussians random_model(std::size_t count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Gaussians gaussians = make_gaussians(count, 3);
  for_each_parameter(
      [&](int, auto& array) {
        for (auto& value : array)
          for (std::size_t c = 0; c < sizeof(value) / sizeof(float); ++c)
            reinterpret_cast<float*>(&value)[c] = uniform(random);
      },
      gaussians);
  return gaussians;
}

TEST(FlipAxes, MeansShapesAndColorsAreThoseOfTheFlippedWorld) {
  const Gaussians before = random_model(20);
  for (int axes = 0; axes < 8; ++axes) {
    const Vec3f sign(axes & 1 ? -1.0f : 1.0f, axes & 2 ? -1.0f : 1.0f, axes & 4 ? -1.0f : 1.0f);
    Gaussians after = before;
    flip_axes(AxisFlip(sign.x < 0, sign.y < 0, sign.z < 0), after);
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(after.mean[i], before.mean[i] * sign);
      const Mat3f a = M::covariance({before.log_scale[i], before.rotation[i]});
      const Mat3f b = M::covariance({after.log_scale[i], after.rotation[i]});
      for (int row = 0; row < 3; ++row)
        for (int column = 0; column < 3; ++column)
          EXPECT_NEAR(b[column][row], a[column][row] * sign[row] * sign[column], 1e-5f);
      const Vec3f d = before.mean[i] * (1 / std::sqrt(dot(before.mean[i], before.mean[i])));
      const auto basis = M::harmonic_basis(3, d), flipped = M::harmonic_basis(3, d * sign);
      Vec3f expected(0, 0, 0), color(0, 0, 0);
      for (std::size_t k = 0; k < 16; ++k) {
        expected = expected + before.sh[i * 16 + k] * basis.b[k];
        color = color + after.sh[i * 16 + k] * flipped.b[k];
      }
      for (int c = 0; c < 3; ++c) EXPECT_NEAR(color[c], expected[c], 1e-5f);
    }
    flip_axes(AxisFlip(sign.x < 0, sign.y < 0, sign.z < 0), after);
    EXPECT_TRUE(same_bits(after, before));
  }
}

}  // namespace
}  // namespace stipple
