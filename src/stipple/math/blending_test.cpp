// SPDX-License-Identifier: Apache-2.0
// One blending step and its VJP, on both sides of the alpha clamp.
#include <vector>

#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

template <class T>
using Scalar = T;
template <class T>
using Splat = typename Math<T>::Splat;
using M = Math<double>;

// What is rendered at a pixel: its four channels and its accumulated alpha.
template <class T>
struct Outputs {
  Vec4<T> channels;
  T alpha;
};

struct Situation {
  Vec4<double> front_channels;
  double front_transmittance;
  Vec4<double> back_channels;  // everything behind the splat, at transmittance 1
  double back_alpha;
  Vec2<double> pixel;
  double alpha_max;
};

template <class T>
Vec4<T> constant(Vec4<double> v) {
  return {T(v.x), T(v.y), T(v.z), T(v.w)};
}

template <class T>
Outputs<T> outputs_of(const Situation& at, Splat<T> s) {
  typename Math<T>::Pixel front{constant<T>(at.front_channels), T(at.front_transmittance)};
  Vec2<T> pixel(T(at.pixel.x), T(at.pixel.y));
  auto after = Math<T>::blend(front, s, Math<T>::alpha_at(s, pixel, T(at.alpha_max)));
  return {after.channels + constant<T>(at.back_channels) * after.transmittance,
          T(1) - after.transmittance * T(1 - at.back_alpha)};
}

double behind_of(const Situation& at, const Splat<double>& s, const Outputs<double>& dL) {
  double alpha = M::alpha_at(s, at.pixel, at.alpha_max);
  return (dot(at.back_channels, dL.channels) + at.back_alpha * dL.alpha) * at.front_transmittance *
         (1 - alpha);
}

Splat<double> reverse(const Situation& at, const Splat<double>& s, const Outputs<double>& dL) {
  return M::blend_vjp(at.front_transmittance, behind_of(at, s, dL), s, at.pixel, at.alpha_max, dL.channels,
                      dL.alpha);
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
    auto y = outputs_of<decltype(seeded.opacity)>(at, seeded);
    auto dL = random_struct<Outputs<double>>(rng, -1, 1);
    expect_gradient(reverse(at, s, dL), y, dL);
  }
}

TEST(Blending, VjpIsExact) { check_side(false); }
TEST(Blending, VjpIsExactWhereAlphaIsClamped) { check_side(true); }

constexpr int kPatch = 3;  // pixels per side of the patch over which some of the tests below sum

// A patch of pixels, each with something in front of and behind the splat.
std::vector<Situation> random_patch(std::mt19937& rng) {
  std::vector<Situation> patch;
  for (int i = 0; i < kPatch * kPatch; ++i)
    patch.push_back({random_struct<Vec4<double>>(rng, 0, 1),
                     uniform(rng, 0.01, 1),
                     random_struct<Vec4<double>>(rng, 0, 1),
                     uniform(rng, 0, 1),
                     {9.5 + i % kPatch, 8.5 + i / kPatch},
                     0.99});
  return patch;
}

// A splat that is opaque enough for alpha to be clamped at some pixels of a patch but not at others.
Splat<double> random_splat(std::mt19937& rng) {
  Splat<double> s;
  s.mean_px = {uniform(rng, 9, 12), uniform(rng, 8, 11)};
  s.conic = {uniform(rng, 0.1, 0.5), uniform(rng, -0.09, 0.09), uniform(rng, 0.1, 0.5)};
  s.opacity = uniform(rng, 0.3, 1.6);
  s.channels = random_struct<Vec4<double>>(rng, 0, 1);
  return s;
}

M::SplatMoments moments_at(const Situation& at, const Splat<double>& s, const Outputs<double>& dL) {
  return M::blend_moments(at.front_transmittance, behind_of(at, s, dL), s, at.pixel, at.alpha_max,
                          dL.channels, dL.alpha);
}

template <class Struct>
void add(Struct& sum, Struct d) {
  for (std::size_t k = 0; k < reals<double>(sum).size(); ++k) reals<double>(sum)[k] += reals<double>(d)[k];
}

TEST(Blending, GradientFromMomentsIsExact) {
  std::mt19937 rng(42);
  int clamped = 0, open = 0;
  for (int i = 0; i < kTrials; ++i) {
    const std::vector<Situation> patch = random_patch(rng);
    const Splat<double> s = random_splat(rng);
    auto seeded = seed<Splat>(s);
    using T = decltype(seeded.opacity);
    struct {
      Outputs<T> at[kPatch * kPatch];
    } y;
    struct {
      Outputs<double> at[kPatch * kPatch];
    } dL;
    M::SplatMoments sum{};
    for (int k = 0; k < kPatch * kPatch; ++k) {
      (M::unclamped_alpha(s, patch[k].pixel) < patch[k].alpha_max ? open : clamped)++;
      y.at[k] = outputs_of<T>(patch[k], seeded);
      dL.at[k] = random_struct<Outputs<double>>(rng, -1, 1);
      add(sum, moments_at(patch[k], s, dL.at[k]));
    }
    expect_gradient(M::splat_gradient(s.conic, s.opacity, sum), y, dL);
  }
  EXPECT_GE(clamped, kTrials);
  EXPECT_GE(open, kTrials);
}

TEST(Blending, GradientFromMomentsEqualsTheSumOverPixels) {
  std::mt19937 rng(43);
  for (int i = 0; i < kTrials; ++i) {
    const Splat<double> s = random_splat(rng);
    M::SplatMoments moments{};
    Splat<double> sum{}, size{};
    for (const Situation& at : random_patch(rng)) {
      auto dL = random_struct<Outputs<double>>(rng, -1, 1);
      add(moments, moments_at(at, s, dL));
      Splat<double> d = reverse(at, s, dL);
      add(sum, d);
      for (double& v : reals<double>(d)) v = std::abs(v);
      add(size, d);
    }
    Splat<double> g = M::splat_gradient(s.conic, s.opacity, moments);
    for (std::size_t k = 0; k < reals<double>(g).size(); ++k)
      ASSERT_NEAR(reals<double>(g)[k], reals<double>(sum)[k], 1e-12 * reals<double>(size)[k]) << k;
  }
}

TEST(Blending, GradientFromMomentsAgreesWithFiniteDifferences) {
  std::mt19937 rng(44);
  for (int i = 0; i < 50;) {
    const std::vector<Situation> patch = random_patch(rng);
    Splat<double> s = random_splat(rng);
    bool is_near_the_clamp = false;
    for (const Situation& at : patch)
      is_near_the_clamp |= std::abs(M::unclamped_alpha(s, at.pixel) - at.alpha_max) < 1e-3;
    if (is_near_the_clamp) continue;
    ++i;
    std::vector<Outputs<double>> dL;
    M::SplatMoments sum{};
    for (const Situation& at : patch) {
      dL.push_back(random_struct<Outputs<double>>(rng, -1, 1));
      add(sum, moments_at(at, s, dL.back()));
    }
    auto loss = [&] {
      double l = 0;
      for (std::size_t k = 0; k < patch.size(); ++k) {
        auto y = outputs_of<double>(patch[k], s);
        l += dot(y.channels, dL[k].channels) + y.alpha * dL[k].alpha;
      }
      return l;
    };
    Splat<double> g = M::splat_gradient(s.conic, s.opacity, sum);
    for (std::size_t k = 0; k < reals<double>(s).size(); ++k) {
      double& x = reals<double>(s)[k];
      const double at = x, step = 1e-6;
      x = at + step;
      const double above = loss();
      x = at - step;
      const double below = loss();
      x = at;
      ASSERT_NEAR(reals<double>(g)[k], (above - below) / (2 * step), 1e-7) << k;
    }
  }
}

TEST(Blending, FoldedExponentIsTheLogarithmOfAlpha) {
  std::mt19937 rng(45);
  EXPECT_NEAR(std::exp2(M::min_exponent), M::min_alpha, 1e-17);
  EXPECT_NEAR(M::log2_e * M::ln_2, 1, 1e-15);
  int skipped = 0, clamped = 0;
  for (int i = 0; i < kTrials; ++i) {
    Splat<double> s = random_splat(rng);
    s.opacity = uniform(rng, 0.01, 1);
    const Vec2<double> pixel(uniform(rng, 4, 17), uniform(rng, 3, 16));
    const double alpha_max = uniform(rng, 0, 1) < 0.5 ? 0.99 : 0.2;
    const auto folded = M::fold(s.mean_px, s.conic, M::log2_of(s.opacity), std::log2(alpha_max));
    const double y = M::folded_exponent(folded, pixel);
    EXPECT_NEAR(y, std::log2(M::unclamped_alpha(s, pixel)), 1e-12 * (1 + std::abs(y)));
    const double alpha = y < M::min_exponent ? 0 : std::exp2(std::min(y, folded.max_exponent));
    EXPECT_NEAR(alpha, M::alpha_at(s, pixel, alpha_max), 1e-12);
    skipped += alpha == 0;
    clamped += y > std::log2(alpha_max);
    const Vec3<double> conic = M::unfold_conic(folded.curve);
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(conic[c], s.conic[c], 1e-15);
  }
  EXPECT_GT(skipped, 10);
  EXPECT_GT(clamped, 10);
}

TEST(Blending, DepthChannelVjpIsExact) {
  std::mt19937 rng(41);
  for (bool inverse : {false, true})
    for (int i = 0; i < kTrials; ++i)
      expect_vjp<Scalar, Scalar>(
          rng, uniform(rng, 0.2, 50), [&](auto z) { return Math<decltype(z)>::depth_channel(z, inverse); },
          [&](double z, double w) { return M::depth_channel_vjp(z, inverse, w); });
}

TEST(Blending, SkipsFaintAndMalformedSplats) {
  Splat<double> s{{0.5, 0.5}, {1, 0, 1}, 0.5, {1, 1, 1, 1}};
  EXPECT_DOUBLE_EQ(M::alpha_at(s, {0.5, 0.5}, 0.99), 0.5);
  EXPECT_EQ(M::alpha_at(s, {5.5, 0.5}, 0.99), 0);  // exp(-12.5)
  s.opacity = 1;
  EXPECT_DOUBLE_EQ(M::alpha_at(s, {0.5, 0.5}, 0.99), 0.99);
  s.conic = {-1, 0, -1};  // not positive definite: alpha would grow without bound
  EXPECT_EQ(M::alpha_at(s, {3.5, 0.5}, 0.99), 0);
}

TEST(Blending, StopsBeforeTransmittanceFallsBelowTheLimit) {
  EXPECT_FALSE(M::finishes_pixel(1.0, 0.99));
  EXPECT_FALSE(M::finishes_pixel(0.0101, 0.99));
  EXPECT_TRUE(M::finishes_pixel(0.0099, 0.99));
}

}  // namespace
}  // namespace stipple
