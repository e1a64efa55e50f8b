// SPDX-License-Identifier: Apache-2.0
// Spherical harmonics and view direction: VJPs, orthonormality, and both sides of the colour clamp.
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

template <class T>
using Basis = typename Math<T>::HarmonicBasis;
template <class T>
using Pinhole = typename Math<T>::Pinhole;
using M = Math<double>;

TEST(Harmonics, VjpIsExactForEveryDegree) {
  std::mt19937 rng(30);
  for (int degree = 0; degree <= 3; ++degree)
    for (int i = 0; i < kTrials; ++i)
      expect_vjp<Vec3, Basis>(
          rng, random_struct<Vec3<double>>(rng, -1, 1),
          [&](auto d) { return Math<decltype(d.x)>::harmonic_basis(degree, d); },
          [&](auto d, auto w) { return M::harmonic_basis_vjp(degree, d, w); });
}

TEST(Harmonics, AreOrthonormalOnTheSphere) {
  // Midpoint rule in (z, longitude): exact in longitude, and fine enough in z for 1e-4.
  double product[16][16] = {};
  const int n = 200;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      double z = (i + 0.5) / n * 2 - 1, angle = (j + 0.5) / n * 2 * M_PI, r = std::sqrt(1 - z * z);
      Basis<double> h = M::harmonic_basis(3, {r * std::cos(angle), r * std::sin(angle), z});
      for (int a = 0; a < 16; ++a)
        for (int b = 0; b < 16; ++b) product[a][b] += h.b[a] * h.b[b] * 4 * M_PI / (n * n);
    }
  for (int a = 0; a < 16; ++a)
    for (int b = 0; b < 16; ++b) EXPECT_NEAR(product[a][b], a == b ? 1 : 0, 1e-3) << a << ' ' << b;
}

TEST(Harmonics, ViewDirectionVjpIsExact) {
  std::mt19937 rng(31);
  for (int i = 0; i < kTrials; ++i)
    expect_vjp<Vec3, Vec3>(
        rng, random_struct<Vec3<double>>(rng, -3, 3),
        [](auto v) { return Math<decltype(v.x)>::view_direction(v); }, M::view_direction_vjp);
}

TEST(Harmonics, MeanAtTheCameraCentreHasADirectionButNoGradient) {
  EXPECT_EQ(Math<float>::view_direction({0, 0, 0}), Vec3f(0, 0, 1));
  EXPECT_EQ(Math<float>::view_direction_vjp({0, 0, 1e-9f}, {1, 1, 1}), Vec3f(0, 0, 0));
}

TEST(Harmonics, ViewOffsetCameraVjpIsExact) {
  std::mt19937 rng(32);
  for (int i = 0; i < kTrials; ++i) {
    auto camera = random_struct<Pinhole<double>>(rng, -1, 1);
    auto mean = random_struct<Vec3<double>>(rng, -1, 1);
    expect_vjp<Pinhole, Vec3>(
        rng, camera,
        [&](auto c) {
          using T = decltype(c.focal_px.x);
          return Math<T>::view_offset({T(mean.x), T(mean.y), T(mean.z)}, c);
        },
        M::view_offset_camera_vjp);
  }
}

TEST(Harmonics, ColorClampVjpIsExactOnBothSides) {
  std::mt19937 rng(33);
  int clamped = 0, open = 0;
  for (int i = 0; i < 2 * kTrials; ++i) {
    auto sum = random_struct<Vec3<double>>(rng, -1.5, 0.5);
    for (int c = 0; c < 3; ++c) (sum[c] > -0.5 ? open : clamped)++;
    expect_vjp<Vec3, Vec3>(
        rng, sum, [](auto s) { return Math<decltype(s.x)>::color_from_harmonics(s); },
        [](auto s, auto w) { return M::color_from_harmonics_vjp(M::color_from_harmonics(s), w, false); });
  }
  EXPECT_GE(clamped, kTrials);
  EXPECT_GE(open, kTrials);
}

// Descent along the gradient that a clamped channel gets can only raise it.
TEST(Harmonics, AClampedChannelCanBeLifted) {
  const Vec3<double> color(0, 0, 0.5), dL(-2, 3, 4);
  EXPECT_EQ(M::color_from_harmonics_vjp(color, dL, false), (Vec3<double>(0, 0, 4)));
  EXPECT_EQ(M::color_from_harmonics_vjp(color, dL, true), (Vec3<double>(-2, 0, 4)));
}

}  // namespace
}  // namespace stipple
