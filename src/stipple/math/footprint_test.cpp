// SPDX-License-Identifier: Apache-2.0
// Conic, antialiasing and culling: VJPs on both sides of every branch, and hostile Gaussians.
#include <limits>

#include "stipple/backend/render_settings.h"
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

template <class T>
using Conic = typename Math<T>::Conic;
using M = Math<double>;
using F = Math<float>;

void expect_conic_vjp(std::mt19937& rng, Vec3<double> S, double blur) {
  expect_vjp<Vec3, Conic>(
      rng, S, [&](auto s) { return Math<decltype(s.x)>::conic_from_covariance(s, decltype(s.x)(blur)); },
      [&](auto s, auto w) { return M::conic_from_covariance_vjp(s, blur, w); });
}

Vec3<double> random_covariance(std::mt19937& rng, double correlation) {
  double x = std::exp(uniform(rng, -3, 4)), y = std::exp(uniform(rng, -3, 4));
  return {x * x, correlation * x * y, y * y};
}

TEST(Conic, VjpIsExact) {
  std::mt19937 rng(20);
  for (int i = 0; i < kTrials; ++i)
    expect_conic_vjp(rng, random_covariance(rng, uniform(rng, -0.95, 0.95)), 0.3);
}

TEST(Conic, VjpIsExactWhereCompensationIsClamped) {
  std::mt19937 rng(21);
  for (int i = 0; i < kTrials; ++i) {
    Vec3<double> S = random_covariance(rng, 0) * 1e-11;  // det S / det B far below 1e-12
    ASSERT_LT(M::determinant_of_covariance(S) / M::determinant_of_blurred(S, 0.3), M::min_compensation2);
    expect_conic_vjp(rng, S, 0.3);
  }
}

TEST(Conic, VjpIsExactWhereTheCorrelationIsBounded) {
  std::mt19937 rng(22);
  for (double correlation : {-1.01, 1.01})
    for (int i = 0; i < kTrials; ++i) {
      Vec3<double> S = random_covariance(rng, correlation);
      expect_conic_vjp(rng, S, 0.3);
      Vec3<double> Q = M::conic_from_covariance(S, 0.3).conic;
      ASSERT_GT(Q.x * Q.z - Q.y * Q.y, 0);  // falls off in every direction
    }
}

TEST(Conic, FallsOffInEveryDirectionForAnyNeedle) {
  std::mt19937 rng(24);
  for (int i = 0; i < 20 * kTrials; ++i) {
    float length = static_cast<float>(std::exp(uniform(rng, 0, 12))),
          angle = static_cast<float>(uniform(rng, 0, 3.2));
    float c = length * std::cos(angle), s = length * std::sin(angle);
    Vec3f Q = F::conic_from_covariance({c * c, c * s * 1.0000002f, s * s}, 0.3f).conic;
    ASSERT_GT(static_cast<double>(Q.x) * Q.z, static_cast<double>(Q.y) * Q.y) << length << ' ' << angle;
  }
}

TEST(Conic, ClampedDeterminantPassesNoGradient) {
  // Only a covariance that has not been bounded can have a negative determinant.
  Vec3<double> S(4, 3, 2), g = M::conic_from_bounded_vjp(S, 0.3, {{1, 0, 0}, 0});
  double det = 0.3 * 6 + 0.09;
  EXPECT_NEAR(g.x, -(2.3) * 0.3 / (det * det), 1e-12);
}

TEST(Conic, IsTheInverseOfTheBlurredCovariance) {
  Vec3<double> S(4, 1, 2), Q = M::conic_from_covariance(S, 0.3).conic;
  EXPECT_NEAR(4.3 * Q.x + 1 * Q.y, 1, 1e-14);
  EXPECT_NEAR(4.3 * Q.y + 1 * Q.z, 0, 1e-14);
  EXPECT_NEAR(1 * Q.y + 2.3 * Q.z, 1, 1e-14);
  EXPECT_NEAR(M::conic_from_covariance(S, 0.3).compensation, std::sqrt(7 / (4.3 * 2.3 - 1)), 1e-14);
}

template <class T>
typename Math<T>::Pinhole simple_camera() {
  typename Math<T>::Pinhole c;
  c.rotation = {T(1), T(0), T(0), T(0), T(1), T(0), T(0), T(0), T(1)};
  c.translation = {T(0), T(0), T(0)};
  c.focal_px = {T(100), T(110)};
  c.center_px = {T(50), T(45)};
  c.size_px = {T(100), T(90)};
  return c;
}

template <class T>
typename Math<T>::RenderSettings settings_of(bool antialiased) {
  auto s = render_settings<typename Math<T>::RenderSettings>({});
  s.antialiased = antialiased;
  return s;
}

// A Gaussian and its opacity, packed into one struct for differentiation.
template <class T>
struct Input {
  PackedPlaced<T> gaussian;
  T opacity;
};

TEST(Footprint, VjpIsExactWithAndWithoutAntialiasing) {
  std::mt19937 rng(23);
  for (bool antialiased : {false, true}) {
    for (int i = 0; i < kTrials; ++i) {
      Input<double> x;
      Vec3<double> mean(uniform(rng, -0.5, 0.5), uniform(rng, -0.5, 0.5), uniform(rng, 1, 4));
      M::Shape shape{random_struct<Vec3<double>>(rng, 0.02, 0.5), random_struct<Vec4<double>>(rng, 0.1, 1)};
      x.gaussian = pack(mean, M::covariance(shape));
      x.opacity = uniform(rng, 0.3, 1);
      auto seeded = seed<Input>(x);
      using T = decltype(seeded.opacity);
      auto y = Math<T>::footprint(seeded.gaussian.placed(), seeded.opacity, simple_camera<T>(),
                                  settings_of<T>(antialiased));
      ASSERT_GT(y.opacity.value, 0);
      auto dL_dy = random_struct<M::Footprint>(rng, -1, 1);
      dL_dy.half_extent_px = {0, 0};

      auto camera = simple_camera<double>();
      auto settings = settings_of<double>(antialiased);
      M::Placed placed = x.gaussian.placed();
      M::FootprintVjp d = M::footprint_vjp(placed, x.opacity, camera, settings, dL_dy);
      Input<double> g{pack_gradient(M::project_vjp(placed, camera, d.dL_dprojected)), d.dL_dopacity};
      expect_gradient(g, y, dL_dy);
    }
  }
}

TEST(Footprint, ExtendsExactlyToAlphaOneIn255) {
  F::Placed g{{0, 0, 1}, {0.01f, 0.003f, 0, 0.003f, 0.02f, 0, 0, 0, 0.01f}};
  F::Footprint s = F::footprint(g, 0.8f, simple_camera<float>(), settings_of<float>(false));
  F::Splat splat{s.mean_px, s.conic, s.opacity, {0, 0, 0, 0}};
  // The bounding box is tight: the largest alpha along its right edge is 1/255, up to the slack for rounding.
  float best = 0;
  for (float y = -s.half_extent_px.y; y <= s.half_extent_px.y; y += 0.01f)
    best = std::max(best, F::unclamped_alpha(splat, s.mean_px + Vec2f(s.half_extent_px.x, y)));
  EXPECT_NEAR(best * 255, 1, 2e-3);
}

TEST(Footprint, CullsInvisibleGaussians) {
  auto camera = simple_camera<float>();
  auto settings = settings_of<float>(false);
  F::Placed good{{0, 0, 1}, {0.01f, 0, 0, 0, 0.01f, 0, 0, 0, 0.01f}};
  EXPECT_EQ(F::footprint(good, 0.5f, camera, settings).opacity, 0.5f);
  EXPECT_EQ(F::footprint(good, 1.0f / 256, camera, settings).opacity, 0.0f);
  EXPECT_EQ(F::footprint(good, 0.0f, camera, settings).opacity, 0.0f);
  for (Vec3f mean :
       {Vec3f(0, 0, 0), Vec3f(0, 0, 0.2f), Vec3f(0, 0, -1), Vec3f(100, 0, 1), Vec3f(0, -100, 1)}) {
    F::Placed away = good;
    away.mean = mean;
    EXPECT_EQ(F::footprint(away, 0.5f, camera, settings).opacity, 0.0f)
        << mean.x << ' ' << mean.y << ' ' << mean.z;
  }
}

TEST(Footprint, CullsNonFiniteAndOverflowingGaussians) {
  auto camera = simple_camera<float>();
  float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (bool antialiased : {false, true}) {
    auto settings = settings_of<float>(antialiased);
    for (float bad : {nan, infinity, -infinity, 1e30f}) {
      for (int where = 0; where < 12; ++where) {
        F::Placed g{{0, 0, 1}, {0.01f, 0, 0, 0, 0.01f, 0, 0, 0, 0.01f}};
        reals<float>(g)[where] = bad;
        if (where == 2 && bad > 1) continue;  // merely very far away, which is valid and tested below
        F::Footprint s = F::footprint(g, 0.5f, camera, settings);
        EXPECT_TRUE(s.opacity == 0 || all_finite(s)) << where << ' ' << bad;
        if (bad != bad) {
          EXPECT_EQ(s.opacity, 0) << where;
        }
      }
      F::Placed g{{0, 0, 1}, {0.01f, 0, 0, 0, 0.01f, 0, 0, 0, 0.01f}};
      if (bad != bad) {
        EXPECT_EQ(F::footprint(g, bad, camera, settings).opacity, 0);
      }
    }
  }
}

// Zero and huge scales, zero quaternions, means at the camera centre, opacities 0 and 1: everything that is
// drawn has finite values, and finite gradients with respect to the stored parameters.
TEST(Footprint, HostileGaussiansGiveFiniteValuesAndGradients) {
  auto camera = simple_camera<float>();
  float infinity = std::numeric_limits<float>::infinity();
  int drawn = 0;
  for (bool antialiased : {false, true})
    for (float log_scale : {-infinity, -100.0f, -46.0f, -3.0f, 3.0f, 20.0f, 39.14f, 46.0f, 100.0f})
      for (float log_scale_z : {-46.0f, -6.9f, -3.0f, 20.0f, 46.0f})
        for (Vec4f rotation :
             {Vec4f(0, 0, 0, 0), Vec4f(1e-20f, 0, 0, 0), Vec4f(1, 2, 3, 4), Vec4f(1e20f, 0, 1e20f, 0)})
          for (Vec3f mean :
               {Vec3f(0, 0, 0), Vec3f(0.1f, 0.1f, 1), Vec3f(0, 0, 0.2000001f), Vec3f(0, 0, 1e30f)})
            for (float logit : {-infinity, -50.0f, 0.0f, 50.0f, infinity}) {
              auto settings = settings_of<float>(antialiased);
              F::Shape shape{F::scale_from_log({log_scale, log_scale_z, log_scale_z}, 1), rotation};
              float opacity = F::sigmoid(logit);
              F::Placed placed{mean, F::covariance(shape)};
              F::Footprint s = F::footprint(placed, opacity, camera, settings);
              if (s.opacity == 0) continue;
              ++drawn;
              ASSERT_TRUE(all_finite(s)) << log_scale << ' ' << log_scale_z << ' ' << mean.z;
              F::Footprint ones{{1, 1}, {1, 1, 1}, 1, 1, {0, 0}};
              F::FootprintVjp d = F::footprint_vjp(placed, opacity, camera, settings, ones);
              F::Placed g = F::project_vjp(placed, camera, d.dL_dprojected);
              F::Shape dL_dshape = F::covariance_vjp(shape, g.covariance);
              ASSERT_TRUE(all_finite(d)) << log_scale << ' ' << log_scale_z << ' ' << mean.z;
              ASSERT_TRUE(all_finite(g)) << log_scale << ' ' << log_scale_z << ' ' << mean.z;
              ASSERT_TRUE(all_finite(dL_dshape)) << log_scale << ' ' << log_scale_z << ' ' << mean.z;
              ASSERT_TRUE(all_finite(F::scale_from_log_vjp(shape.scale, dL_dshape.scale)));
              ASSERT_TRUE(std::isfinite(F::sigmoid_vjp(opacity, d.dL_dopacity)));
              ASSERT_TRUE(all_finite(F::project_camera_vjp(placed, camera, d.dL_dprojected)));
            }
  EXPECT_GT(drawn, 50);
}

}  // namespace
}  // namespace stipple
