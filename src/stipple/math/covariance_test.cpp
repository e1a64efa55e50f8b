// SPDX-License-Identifier: Apache-2.0
// Activations and covariance: VJPs against dual numbers, and values against known results.
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

template <class T>
using Scalar = T;
template <class T>
using Shape = typename Math<T>::Shape;
template <class T>
using Packed = typename Math<T>::PackedCovariance;
using M = Math<double>;

Shape<double> random_shape(std::mt19937& rng) {
  Shape<double> s;
  s.scale = {uniform(rng, 0.01, 2), uniform(rng, 0.01, 2), uniform(rng, 0.01, 2)};
  do s.rotation = random_struct<Vec4<double>>(rng, -2, 2);
  while (dot(s.rotation, s.rotation) < 0.01);
  return s;
}

TEST(Activation, ScaleVjpIsExact) {
  std::mt19937 rng(1);
  for (int i = 0; i < kTrials; ++i) {
    double modifier = uniform(rng, 0.1, 3);
    expect_vjp<Vec3, Vec3>(
        rng, random_struct<Vec3<double>>(rng, -6, 3),
        [&](auto x) { return Math<decltype(x.x)>::scale_from_log(x, decltype(x.x)(modifier)); },
        [&](auto x, auto w) { return M::scale_from_log_vjp(M::scale_from_log(x, modifier), w); });
  }
}

TEST(Activation, SigmoidVjpIsExact) {
  std::mt19937 rng(2);
  for (int i = 0; i < kTrials; ++i)
    expect_vjp<Scalar, Scalar>(
        rng, uniform(rng, -8, 8), [](auto x) { return Math<decltype(x)>::sigmoid(x); },
        [](double x, double w) { return M::sigmoid_vjp(M::sigmoid(x), w); });
}

TEST(Activation, SigmoidOfInfinityIsZeroOrOneWithoutGradient) {
  float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Math<float>::sigmoid(-infinity), 0.0f);
  EXPECT_EQ(Math<float>::sigmoid(infinity), 1.0f);
  EXPECT_EQ(Math<float>::sigmoid_vjp(0.0f, 5.0f), 0.0f);
  EXPECT_EQ(Math<float>::sigmoid_vjp(1.0f, 5.0f), 0.0f);
}

TEST(Activation, LogitInvertsSigmoid) {
  for (double x : {-8.0, -0.5, 0.0, 3.0}) EXPECT_NEAR(M::logit(M::sigmoid(x)), x, 1e-10);
  EXPECT_EQ(Math<float>::logit(0.0f), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(Math<float>::logit(1.0f), std::numeric_limits<float>::infinity());
}

TEST(Covariance, RotationVjpIsExact) {
  std::mt19937 rng(3);
  for (int i = 0; i < kTrials; ++i)
    expect_vjp<Vec4, Mat3>(
        rng, random_shape(rng).rotation,
        [](auto q) { return Math<decltype(q.x)>::rotation_from_quaternion(q); },
        M::rotation_from_quaternion_vjp);
}

TEST(Covariance, VjpIsExact) {
  std::mt19937 rng(4);
  for (int i = 0; i < kTrials; ++i)
    expect_vjp<Shape, Mat3>(
        rng, random_shape(rng), [](auto s) { return Math<decltype(s.scale.x)>::covariance(s); },
        M::covariance_vjp);
}

TEST(Covariance, UnpackingVjpIsExact) {
  std::mt19937 rng(5);
  for (int i = 0; i < kTrials; ++i)
    expect_vjp<Packed, Mat3>(
        rng, random_struct<Packed<double>>(rng, -1, 1),
        [](auto c) { return Math<decltype(c.xx)>::unpack_covariance(c); },
        [](auto, auto w) { return M::unpack_covariance_vjp(w); });
}

TEST(Covariance, QuarterTurnAboutZSwapsXAndY) {
  double h = std::sqrt(0.5);
  Mat3<double> sigma = M::covariance({{1, 2, 3}, {h, 0, 0, h}});
  EXPECT_NEAR(sigma[0][0], 4, 1e-12);
  EXPECT_NEAR(sigma[1][1], 1, 1e-12);
  EXPECT_NEAR(sigma[2][2], 9, 1e-12);
  EXPECT_NEAR(sigma[0][1], 0, 1e-12);
}

TEST(Covariance, DoesNotDependOnTheLengthOfTheQuaternion) {
  Vec4<double> q(0.3, -0.4, 0.8, 0.1);
  Mat3<double> a = M::rotation_from_quaternion(q), b = M::rotation_from_quaternion(q * 1e5);
  for (int c = 0; c < 3; ++c)
    for (int r = 0; r < 3; ++r) EXPECT_NEAR(a[c][r], b[c][r], 1e-14);
}

TEST(Covariance, DegenerateQuaternionsMeanNoRotationAndGetNoGradient) {
  Mat3f identity(1, 0, 0, 0, 1, 0, 0, 0, 1);
  Mat3f ones(1, 1, 1, 1, 1, 1, 1, 1, 1);
  for (float length : {0.0f, 1e-30f, 1e-13f, 1e13f, 1e30f}) {
    Vec4f q(0, length, 0, 0);
    EXPECT_EQ(Math<float>::rotation_from_quaternion(q), identity) << length;
    EXPECT_EQ(Math<float>::rotation_from_quaternion_vjp(q, ones), Vec4f(0, 0, 0, 0)) << length;
  }
}

TEST(Covariance, StaysFiniteForTinyAndHugeScales) {
  std::mt19937 rng(6);
  for (float scale : {0.0f, 1e-20f, 1e-3f, 1e3f, 1e9f}) {
    Math<float>::Shape shape{{scale, 1.0f, scale}, {0.5f, -0.1f, 0.2f, 0.7f}};
    EXPECT_TRUE(all_finite(Math<float>::covariance(shape))) << scale;
    EXPECT_TRUE(all_finite(Math<float>::covariance_vjp(shape, Mat3f(1, 1, 1, 1, 1, 1, 1, 1, 1)))) << scale;
  }
}

}  // namespace
}  // namespace stipple
