// SPDX-License-Identifier: Apache-2.0
// One blending step and its reverse, on both sides of the alpha clamp.
#include "stipple/math/vjp_test.h"

namespace stipple {
namespace {

template <class T>
using Scalar = T;
template <class T>
using Splat = typename Math<T>::Splat;
using M = Math<double>;

// What a pixel shows: its four channels and its accumulated alpha.
template <class T>
struct Outputs {
  Vec4<T> channels;
  T alpha;
};

struct Situation {
  Vec4<double> front_channels;
  double front_transmittance;
  Vec4<double> back_channels;  // what lies behind, seen with transmittance 1
  double back_alpha;
  Vec2<double> pixel;
  double alpha_max;
};

template <class T>
Vec4<T> constant(Vec4<double> v) {
  return {T(v.x), T(v.y), T(v.z), T(v.w)};
}

template <class T>
Outputs<T> look(const Situation& at, Splat<T> s) {
  typename Math<T>::Pixel front{constant<T>(at.front_channels), T(at.front_transmittance)};
  Vec2<T> pixel(T(at.pixel.x), T(at.pixel.y));
  auto after = Math<T>::blend(front, s, Math<T>::alpha_at(s, pixel, T(at.alpha_max)));
  return {after.channels + constant<T>(at.back_channels) * after.transmittance,
          T(1) - after.transmittance * T(1 - at.back_alpha)};
}

Splat<double> reverse(const Situation& at, const Splat<double>& s, const Outputs<double>& dL) {
  double alpha = M::alpha_at(s, at.pixel, at.alpha_max);
  double behind =
      (dot(at.back_channels, dL.channels) + at.back_alpha * dL.alpha) * at.front_transmittance * (1 - alpha);
  return M::blend_vjp(at.front_transmittance, behind, s, at.pixel, at.alpha_max, dL.channels, dL.alpha);
}

void check_side(bool clamped) {
  std::mt19937 rng(40);
  for (int i = 0; i < kTrials;) {
    Situation at{random_struct<Vec4<double>>(rng, 0, 1),
                 uniform(rng, 0.01, 1),
                 random_struct<Vec4<double>>(rng, 0, 1),
                 uniform(rng, 0, 1),
                 {10.5, 9.5},
                 uniform(rng, 0, 1) < 0.5 ? 0.99 : 0.999};
    Splat<double> s;
    double reach = clamped ? 0.05 : 2;
    s.mean_px = {10.5 + uniform(rng, -reach, reach), 9.5 + uniform(rng, -reach, reach)};
    s.conic = {uniform(rng, 0.1, 0.5), uniform(rng, -0.09, 0.09), uniform(rng, 0.1, 0.5)};
    s.opacity = clamped ? uniform(rng, 0.99, 1) : uniform(rng, 0.02, 0.98);
    s.channels = random_struct<Vec4<double>>(rng, 0, 1);
    double alpha = M::unclamped_alpha(s, at.pixel);
    if (alpha < M::min_alpha || (alpha >= at.alpha_max) != clamped) continue;
    ++i;
    auto seeded = seed<Splat>(s);
    auto y = look<decltype(seeded.opacity)>(at, seeded);
    auto dL = random_struct<Outputs<double>>(rng, -1, 1);
    expect_gradient(reverse(at, s, dL), y, dL);
  }
}

TEST(Blending, VjpIsExact) { check_side(false); }
TEST(Blending, VjpIsExactWhereAlphaIsClamped) { check_side(true); }

TEST(Blending, DepthChannelVjpIsExact) {
  std::mt19937 rng(41);
  for (bool inverse : {false, true})
    for (int i = 0; i < kTrials; ++i)
      expect_vjp<Scalar, Scalar>(
          rng, uniform(rng, 0.2, 50), [&](auto z) { return Math<decltype(z)>::depth_channel(z, inverse); },
          [&](double z, double w) { return M::depth_channel_vjp(z, inverse, w); });
}

TEST(Blending, SkipsWhatIsTooFaintOrMalformed) {
  Splat<double> s{{0.5, 0.5}, {1, 0, 1}, 0.5, {1, 1, 1, 1}};
  EXPECT_DOUBLE_EQ(M::alpha_at(s, {0.5, 0.5}, 0.99), 0.5);
  EXPECT_EQ(M::alpha_at(s, {5.5, 0.5}, 0.99), 0);  // exp(-12.5)
  s.opacity = 1;
  EXPECT_DOUBLE_EQ(M::alpha_at(s, {0.5, 0.5}, 0.99), 0.99);
  s.conic = {-1, 0, -1};  // not a conic: it would grow without bound
  EXPECT_EQ(M::alpha_at(s, {3.5, 0.5}, 0.99), 0);
}

TEST(Blending, StopsBeforeTransmittanceFallsUnderTheLimit) {
  EXPECT_FALSE(M::finishes_pixel(1.0, 0.99));
  EXPECT_FALSE(M::finishes_pixel(0.0101, 0.99));
  EXPECT_TRUE(M::finishes_pixel(0.0099, 0.99));
}

}  // namespace
}  // namespace stipple
