// SPDX-License-Identifier: Apache-2.0
// The stored form of Adam's moments: every number that it can hold is kept, others are rounded without bias,
// and training with it is training with Adam.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "stipple/core/random.h"
#include "stipple/math/math.h"

namespace stipple {
namespace {

using F = Math<float>;
using std::uint32_t;

constexpr uint32_t kAllBits = 0xffffffffu;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Format {
  const char* name;
  uint32_t (*pack)(F::AdamParameter, uint32_t);
  F::AdamParameter (*unpack)(float, uint32_t);
  int second_mantissa;  // bits
  int second_random;    // the highest bits of a random word, which round the second moment
  int first_random;     // the lowest, which round the first
  float zero_second;    // what a second moment of 0 becomes
  float most_second;    // finite number

  uint32_t none_for_second() const { return kAllBits >> second_random; }
};

const Format kFormats[] = {{"wide", F::wide_moments, F::with_wide_moments, 7, 16, 16, 0, F::wide_most},
                           {"narrow", F::narrow_moments, F::with_narrow_moments, 3, 20, 12,
                            F::narrow_second_least, F::narrow_second_most}};

F::AdamParameter rounded(const Format& f, float first, float second, uint32_t random) {
  return f.unpack(0, f.pack({0, first, second}, random));
}

// The numbers below and above x that can be stored. Rounding goes down with no random bits, and up with all.
struct Neighbours {
  float below, above;
};
Neighbours second_neighbours(const Format& f, float v) {
  return {rounded(f, 0, v, 0).second_moment, rounded(f, 0, v, kAllBits).second_moment};
}
Neighbours first_neighbours(const Format& f, float m, float v) {
  return {rounded(f, m, v, 0).first_moment, rounded(f, m, v, f.none_for_second()).first_moment};
}

// But -0 becomes 0.
TEST(Moments, EveryStoredWordIsKeptWhateverTheRandomBits) {
  for (const uint32_t random : {0u, kAllBits, 0x12345678u}) {
    for (uint32_t word = 0; word < 1u << 16; ++word) {
      const uint32_t kept = (word & 31u) == 0 ? word & 0x7fffu : word;
      ASSERT_EQ(F::narrow_moments(F::with_narrow_moments(0, word), random), kept) << word;
    }
    for (uint32_t half = 0; half < 0x7f80; ++half) {  // every bfloat16 that is finite and not negative
      const uint32_t positive = half << 16 | half, negative = positive | 0x80000000u;
      ASSERT_EQ(F::wide_moments(F::with_wide_moments(0, positive), random), positive) << half;
      ASSERT_EQ(F::wide_moments(F::with_wide_moments(0, negative), random), half == 0 ? 0 : negative) << half;
    }
  }
}

TEST(Moments, AMomentIsNeverReadAsMinusZero) {
  for (const uint32_t word : {0x8000u, 0x9240u, 0xffe0u})
    EXPECT_FALSE(std::signbit(F::with_narrow_moments(0, word).first_moment)) << word;
  EXPECT_FALSE(std::signbit(F::with_wide_moments(0, 0x80003f80u).first_moment));
}

TEST(Moments, AWordOfZeroMeansZeroMoments) {
  for (const Format& f : kFormats) {
    const F::AdamParameter p = f.unpack(3, 0);
    EXPECT_EQ(p.value, 3);
    EXPECT_EQ(p.first_moment, 0) << f.name;
    EXPECT_EQ(p.second_moment, f.zero_second) << f.name;
    EXPECT_LE(std::sqrt(f.zero_second), 1e-15f) << f.name;  // the usual epsilon
    for (const uint32_t random : {0u, kAllBits}) EXPECT_EQ(f.pack({3, 0, 0}, random), 0u) << f.name;
  }
}

constexpr uint32_t kSecondUnit = 1 << 5, kSign = 1 << 15;  // of a narrow word

float narrow_first(uint32_t word) { return F::with_narrow_moments(0, word).first_moment; }
float narrow_second(uint32_t word) { return F::with_narrow_moments(0, word).second_moment; }

TEST(Moments, NarrowWordsAreOrderedLikeTheirValues) {
  for (uint32_t word = kSecondUnit; word < kSign; word += kSecondUnit) {
    EXPECT_LT(narrow_second(word - kSecondUnit), narrow_second(word)) << word;
    for (uint32_t size = 1; size < kSecondUnit; ++size) {
      ASSERT_LT(narrow_first(word + size - 1), narrow_first(word + size)) << word + size;
      ASSERT_EQ(narrow_first(kSign + word + size), -narrow_first(word + size));
      ASSERT_EQ(narrow_second(kSign + word + size), narrow_second(word));
    }
  }
  EXPECT_EQ(narrow_second(kSign - kSecondUnit), F::narrow_second_most);
}

// For the same random bits, a larger number is not rounded to a smaller one.
TEST(Moments, RoundingIsMonotone) {
  Random draw(1);
  for (const Format& f : kFormats)
    for (int i = 0; i < 100000; ++i) {
      const auto random = static_cast<uint32_t>(draw.bits());
      const float v = std::exp2(draw.uniform(-110, 30)), more = v * draw.uniform(1, 1.5f);
      EXPECT_LE(rounded(f, 0, v, random).second_moment, rounded(f, 0, more, random).second_moment);
      const float m = std::sqrt(v) * draw.uniform(-8, 8), larger = m + std::sqrt(v) * draw.uniform(0, 1);
      EXPECT_LE(rounded(f, m, v, random).first_moment, rounded(f, larger, v, random).first_moment)
          << f.name << ' ' << m << ' ' << larger << ' ' << v;
    }
}

// The share of the random words with which x becomes the upper neighbour is its place between the two, to a
// part in 2^12: so many random bits decide. Rounding is monotone in the random bits, too, so that the share
// can be found by bisection.
template <class IsUp>
double share_of_up(IsUp is_up, int bits) {
  uint32_t down = 0, up = 1u << bits;
  while (up - down > 1) {
    const uint32_t middle = down + (up - down) / 2;
    (is_up(middle) ? up : down) = middle;
  }
  return 1 - static_cast<double>(up) / static_cast<double>(1u << bits);
}

// The place of x between its neighbours, and the share of the random words with which it becomes the upper.
template <class IsUp>
void expect_unbiased(float x, Neighbours n, int bits, IsUp is_up) {
  if (n.above == n.below) return;
  const double below = n.below,
               place = (static_cast<double>(x) - below) / (static_cast<double>(n.above) - below);
  EXPECT_NEAR(share_of_up(is_up, bits), place, 0x1p-11) << x;
}

TEST(Moments, RoundingIsUnbiased) {
  Random draw(2);
  for (const Format& f : kFormats)
    for (int i = 0; i < 20000; ++i) {
      const float v = std::exp2(draw.uniform(-100, 25)), m = std::sqrt(v) * draw.uniform(-7, 7);
      const Neighbours s = second_neighbours(f, v);
      ASSERT_LE(s.below, v);
      ASSERT_GE(s.above, v);
      ASSERT_LE(s.above, s.below * (1 + std::exp2(-static_cast<float>(f.second_mantissa))));
      expect_unbiased(v, s, f.second_random, [&](uint32_t bits) {
        return rounded(f, 0, v, bits << (32 - f.second_random)).second_moment == s.above;
      });
      const Neighbours n = first_neighbours(f, m, v);
      const float gap =
          f.second_mantissa == 7 ? std::abs(m) * 0x1p-7f : std::abs(m) * 0.25f + std::sqrt(v) / 64;
      ASSERT_LE(std::abs(n.below), std::abs(m));
      ASSERT_GE(std::abs(n.above), std::abs(m) - gap * 0x1p-12f);
      ASSERT_LE(std::abs(n.above - n.below), gap);
      expect_unbiased(m, n, f.first_random,
                      [&](uint32_t bits) { return rounded(f, m, v, bits).first_moment == n.above; });
    }
}

TEST(Moments, FiniteMomentsStayFinite) {
  for (const Format& f : kFormats)
    for (const float v : {0.0f, 1e-45f, 1.0f, f.most_second, 1e36f, std::numeric_limits<float>::max()})
      for (const float m : {0.0f, 1e-45f, 1.0f, 1e18f, std::numeric_limits<float>::max()})
        for (const float sign : {-1.0f, 1.0f})
          for (const uint32_t random : {0u, kAllBits, 0x0000ffffu, 0xffff0000u}) {
            const F::AdamParameter p = rounded(f, sign * m, v, random);
            EXPECT_LT(std::abs(p.first_moment), kInfinity) << f.name << ' ' << m << ' ' << v;
            EXPECT_LE(p.second_moment, f.most_second) << f.name << ' ' << v;
            EXPECT_GE(sign * p.first_moment, 0) << f.name << ' ' << m << ' ' << v;
          }
  // Numbers that are too large become the largest.
  EXPECT_EQ(rounded(kFormats[1], 100, 1, 0).first_moment, F::narrow_first_most);
  EXPECT_EQ(rounded(kFormats[1], -100, 1, kAllBits).first_moment, -F::narrow_first_most);
  EXPECT_EQ(rounded(kFormats[1], 0, 1e9f, kAllBits).second_moment, F::narrow_second_most);
  for (const float v : {1e-45f, 1e-38f, 1e-31f})
    EXPECT_EQ(rounded(kFormats[1], 0, v, kAllBits).second_moment, F::narrow_second_least) << v;
}

// The unit of the first moment is a power of two between half of the root of the second and the root, which
// makes the largest ratio that Adam can reach storable.
TEST(Moments, TheUnitOfTheFirstMomentFollowsTheSecond) {
  for (uint32_t word = 0; word < kSign; word += kSecondUnit) {
    const float root = std::sqrt(narrow_second(word)), unit = uintBitsToFloat(F::unit_bits(word));
    EXPECT_LE(unit, root) << word;
    EXPECT_GT(2 * unit, root) << word;
    EXPECT_EQ(unit * uintBitsToFloat(0x7f000000u - F::unit_bits(word)), 1) << word;
  }
  // The worst case of the bound: after a long silence, gradients that grow by b2 / b1 per step.
  double m = 0, v = 0, most = 0;
  for (double g = 1; g < 1e12; g *= 0.999 / 0.9) {
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    most = std::max(most, m / std::sqrt(v));
  }
  EXPECT_GT(most, 7.2);
  EXPECT_LT(2 * most, 1.05 * static_cast<double>(F::narrow_first_most));
}

// Both of the highest and of the lowest bits, any thousands of consecutive values get each equally often.
TEST(Moments, RandomWordsOfConsecutiveValuesAreSpreadEvenly) {
  Random draw(4);
  for (int trial = 0; trial < 100; ++trial) {
    const auto key = static_cast<uint32_t>(draw.bits()), first = static_cast<uint32_t>(draw.bits());
    std::vector<int> low(1 << 12), high(1 << 8);
    for (uint32_t i = 0; i < 1u << 12; ++i) {
      const uint32_t word = F::rounding_bits(key, first + i);
      ++low[word & 0xfffu];
      ++high[word >> 24];
    }
    for (const int count : low) ASSERT_EQ(count, 1);
    for (const int count : high) ASSERT_NEAR(count, 16, 3);
  }
}

// Values with noisy gradients, which most steps do not see, move on average as those of exact Adam do, and
// spread little more. The numbers are means over many values, since each of them gets its own rounding.
TEST(Moments, AdamMovesValuesAsWithExactMoments) {
  constexpr int kValues = 2000, kSteps = 2000;
  for (const Format& f : kFormats)
    for (const float visibility : {1.0f, 0.1f}) {
      Random draw(3);
      std::vector<F::AdamParameter> exact(kValues, {0, 0, 0}), stored = exact;
      double second_ratio = 0;
      for (int step = 1; step <= kSteps; ++step) {
        const F::AdamRule rule{1,
                               0.9f,
                               0.999f,
                               1e-15f,
                               static_cast<float>(1 / (1 - std::pow(0.9, step))),
                               static_cast<float>(1 / (1 - std::pow(0.999, step)))};
        const auto key = static_cast<uint32_t>(draw.bits());
        for (uint32_t k = 0; k < kValues; ++k) {
          const float gradient = draw.uniform() < visibility ? 1e-5f * (0.3f + draw.normal()) : 0.0f;
          exact[k] = F::adam(exact[k], gradient, rule);
          const F::AdamParameter p = F::adam(stored[k], gradient, rule);
          stored[k] = f.unpack(p.value, f.pack(p, F::rounding_bits(key, k)));
        }
      }
      double exact_path = 0, stored_path = 0, exact_square = 0, stored_square = 0;
      for (std::size_t k = 0; k < kValues; ++k) {
        exact_path += static_cast<double>(exact[k].value) / kValues;
        stored_path += static_cast<double>(stored[k].value) / kValues;
        exact_square += std::pow(static_cast<double>(exact[k].value), 2) / kValues;
        stored_square += std::pow(static_cast<double>(stored[k].value), 2) / kValues;
        second_ratio += static_cast<double>(stored[k].second_moment / exact[k].second_moment) / kValues;
      }
      EXPECT_NEAR(second_ratio, 1, 0.02) << f.name << ' ' << visibility;
      EXPECT_NEAR(stored_path / exact_path, 1, 0.03) << f.name << ' ' << visibility;
      EXPECT_NEAR(stored_square / exact_square, 1, 0.08) << f.name << ' ' << visibility;
    }
}

}  // namespace
}  // namespace stipple
