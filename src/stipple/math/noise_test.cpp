// SPDX-License-Identifier: Apache-2.0
// The generator's numbers are normal and independent across Gaussians and seeds; the noise moves only faint
// Gaussians, according to their covariance.
#include <functional>
#include <limits>
#include <set>
#include <vector>

#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

using F = Math<float>;
using std::uint32_t;

constexpr uint32_t kCount = 200000;

// These values must never change, because training from a seed must be reproducible.
TEST(Noise, HashIsFixed) {
  auto expect_hash = [](F::RandomBits key, F::RandomBits expected) {
    F::RandomBits bits = F::hash_of(key);
    EXPECT_EQ(bits.x, expected.x);
    EXPECT_EQ(bits.y, expected.y);
    EXPECT_EQ(bits.z, expected.z);
  };
  expect_hash({0, 0, 0}, {0x9bafd7c6u, 0xa8e88a6bu, 0x3f15482cu});
  expect_hash({1, 2, 3}, {0xfa9f79a6u, 0x48f2f44cu, 0x596f5ab1u});
  expect_hash({0xffffffffu, 0x80000000u, 0x12345678u}, {0x835177f7u, 0x80d9f894u, 0xfed61e69u});
}

TEST(Noise, EveryBitOfTheKeyFlipsHalfOfTheOutputBits) {
  const uint32_t keys = 256;
  for (int word = 0; word < 3; ++word)
    for (int bit = 0; bit < 32; ++bit) {
      int changed = 0;
      for (uint32_t k = 0; k < keys; ++k) {
        uint32_t key[3] = {k, 7 * k, 31 * k + 5};
        const F::RandomBits c = F::random_bits(key[0], key[1], key[2]);
        key[word] ^= 1u << bit;
        const F::RandomBits d = F::random_bits(key[0], key[1], key[2]);
        // Only the 23 bits that are used for a uniform number.
        for (uint32_t difference : {c.x ^ d.x, c.y ^ d.y, c.z ^ d.z})
          changed += __builtin_popcount(difference >> 9);
      }
      EXPECT_NEAR(changed / (3.0 * 23 * keys), 0.5, 0.02) << "word " << word << ", bit " << bit;
    }
}

TEST(Noise, UniformsLieStrictlyBetweenZeroAndOne) {
  EXPECT_EQ(F::uniform_from_bits(0), 0x1p-24f);
  EXPECT_EQ(F::uniform_from_bits(0xffffffffu), 1 - 0x1p-24f);
  EXPECT_EQ(F::uniform_from_bits(0x80000000u), 0.5f + 0x1p-24f);
  EXPECT_TRUE(std::isfinite(F::normals_from_uniforms(0x1p-24f, 0.5f).x));
}

// x = r cos(2 pi v) and y = r sin(2 pi v): dx/dv = -2 pi y, dy/dv = 2 pi x.
TEST(Noise, SecondUniformRotatesTheNormals) {
  std::mt19937 rng(70);
  for (int i = 0; i < kTrials; ++i) {
    const Dual<1> u(uniform(rng, 0.01, 0.99)), v(uniform(rng, 0, 1), 0);
    const Vec2<Dual<1>> n = Math<Dual<1>>::normals_from_uniforms(u, v);
    EXPECT_NEAR(n.x.value * n.x.value + n.y.value * n.y.value, -2 * std::log(u.value), 1e-12);
    EXPECT_NEAR(n.x.d[0], -2 * M_PI * n.y.value, 1e-11);
    EXPECT_NEAR(n.y.d[0], 2 * M_PI * n.x.value, 1e-11);
  }
}

using Draw = std::function<Vec3f(uint32_t)>;

double average(const std::function<double(uint32_t)>& f) {
  double sum = 0;
  for (uint32_t i = 0; i < kCount; ++i) sum += f(i);
  return sum / kCount;
}

// Tolerances are five standard deviations of the averages that independent normals have.
void expect_independent_normals(const Draw& draw) {
  std::vector<Vec3<double>> n(kCount + 1);
  for (uint32_t i = 0; i <= kCount; ++i) {
    const Vec3f v = draw(i);
    n[i] = {static_cast<double>(v.x), static_cast<double>(v.y), static_cast<double>(v.z)};
  }
  const double unit = 5 / std::sqrt(static_cast<double>(kCount));
  for (int a = 0; a < 3; ++a) {
    EXPECT_NEAR(average([&](uint32_t i) { return n[i][a]; }), 0, unit);
    EXPECT_NEAR(average([&](uint32_t i) { return std::pow(n[i][a], 2); }), 1, std::sqrt(2) * unit);
    EXPECT_NEAR(average([&](uint32_t i) { return std::pow(n[i][a], 3); }), 0, std::sqrt(15) * unit);
    EXPECT_NEAR(average([&](uint32_t i) { return std::pow(n[i][a], 4); }), 3, std::sqrt(96) * unit);
    // About 0.27 % lie beyond three standard deviations.
    EXPECT_NEAR(average([&](uint32_t i) { return std::abs(n[i][a]) > 3 ? 1 : 0; }), 0.0027,
                std::sqrt(0.0027) * unit);
    for (int b = 0; b < 3; ++b) {
      if (a < b) {
        EXPECT_NEAR(average([&](uint32_t i) { return n[i][a] * n[i][b]; }), 0, unit);
        EXPECT_NEAR(average([&](uint32_t i) { return std::pow(n[i][a] * n[i][b], 2); }), 1,
                    std::sqrt(8) * unit);
      }
      // The neighbour's components are independent, too.
      EXPECT_NEAR(average([&](uint32_t i) { return n[i][a] * n[i + 1][b]; }), 0, unit);
      EXPECT_NEAR(average([&](uint32_t i) { return std::pow(n[i][a] * n[i + 1][b], 2); }), 1,
                  std::sqrt(8) * unit);
    }
  }
}

TEST(Noise, IsNormalAndIndependentAcrossGaussians) {
  expect_independent_normals([](uint32_t i) { return F::gaussian_noise(i, 0x9abcdef0u, 0x12345678u); });
  expect_independent_normals([](uint32_t i) { return F::gaussian_noise(i, 0, 0); });
}

TEST(Noise, IsNormalAndIndependentAcrossSeeds) {
  expect_independent_normals([](uint32_t i) { return F::gaussian_noise(5, i, 0); });
  expect_independent_normals([](uint32_t i) { return F::gaussian_noise(123456, 0xffff0000u + i, i >> 16); });
  expect_independent_normals([](uint32_t i) { return F::gaussian_noise(0, 0, i); });
}

TEST(Noise, DiffersForEveryGaussianAndSeed) {
  std::set<std::array<float, 3>> seen;
  for (uint32_t gaussian = 0; gaussian < 100; ++gaussian)
    for (uint32_t low = 0; low < 10; ++low)
      for (uint32_t high = 0; high < 10; ++high) {
        const Vec3f n = F::gaussian_noise(gaussian, low, high);
        seen.insert({n.x, n.y, n.z});
      }
  EXPECT_EQ(seen.size(), 10000u);
}

constexpr Vec4f kRotation(0.9f, 0.1f, -0.3f, 0.2f);

// The displacement is the covariance times the noise, limited to the Gaussian's size, and it decreases with
// opacity.
TEST(Noise, ScalesWithTheCovariance) {
  const Vec3f mean(1, 2, 3), log_scale(-1, 0, 0.5f);
  const Mat3f covariance = F::covariance({F::scale_from_log(log_scale, 1), kRotation});
  for (float opacity : {1e-4f, 0.005f, 0.01f, 0.05f}) {
    const float a = 0.1f * F::sigmoid(100 * (0.005f - opacity)), strength = a / (1 + a * std::exp(0.5f));
    for (uint32_t i = 0; i < 100; ++i) {
      const Vec3f expected = mean + covariance * F::gaussian_noise(i, 4, 2) * strength;
      const Vec3f moved = F::perturbed_mean(mean, log_scale, kRotation, F::logit(opacity), 0.1f, i, 4, 2);
      for (int c = 0; c < 3; ++c) EXPECT_NEAR(moved[c], expected[c], 1e-5) << opacity;
    }
  }
}

TEST(Noise, MovesAGaussianByNoMoreThanItsSize) {
  for (const float size : {0.01f, 1.0f, 100.0f}) {
    double squares = 0;
    for (uint32_t i = 0; i < 10'000; ++i) {
      const Vec3f log_scale = Vec3f(1, 1, 1) * std::log(size);
      const Vec3f moved = F::perturbed_mean({0, 0, 0}, log_scale, kRotation, F::logit(1e-3f), 1e6f, i, 4, 2);
      squares += static_cast<double>(moved.x) * static_cast<double>(moved.x);
    }
    EXPECT_NEAR(std::sqrt(squares / 10'000) / static_cast<double>(size), 1, 0.05) << size;
  }
}

TEST(Noise, DoesNotMoveGaussiansThatAreNotFaint) {
  const Vec3f mean(1, 2, 3);
  for (float opacity : {0.2500001f, 0.5f, 0.999f})
    EXPECT_EQ(F::perturbed_mean(mean, {0, 0, 0}, kRotation, F::logit(opacity), 1e6f, 1, 2, 3), mean);
  EXPECT_NE(F::perturbed_mean(mean, {0, 0, 0}, kRotation, F::logit(0.2f), 1e6f, 1, 2, 3), mean);
  EXPECT_EQ(F::perturbed_mean(mean, {0, 0, 0}, kRotation, F::logit(0.01f), 0, 1, 2, 3), mean);
}

TEST(Noise, NeverMakesAMeanNonFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  const Vec3f mean(1, 2, 3);
  for (float bad : {nan, infinity, 60.0f})
    EXPECT_EQ(F::perturbed_mean(mean, {0, bad, 0}, kRotation, -5, 0.1f, 1, 2, 3), mean) << bad;
  EXPECT_EQ(F::perturbed_mean(mean, {0, 0, 0}, {nan, 0, 0, 1}, -5, 0.1f, 1, 2, 3), mean);
  EXPECT_EQ(F::perturbed_mean(mean, {0, 0, 0}, kRotation, nan, 0.1f, 1, 2, 3), mean);
  EXPECT_EQ(F::perturbed_mean(mean, {0, 0, 0}, kRotation, -5, infinity, 1, 2, 3), mean);
}

}  // namespace
}  // namespace stipple
