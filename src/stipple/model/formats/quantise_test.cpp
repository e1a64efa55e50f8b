// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/quantise.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "stipple/io/half_float.h"

namespace stipple {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kHuge = std::numeric_limits<float>::max();

TEST(Quantise, ClampRoundTakesAnyNumber) {
  EXPECT_EQ(clamp_round(0.49f, 255), 0u);
  EXPECT_EQ(clamp_round(0.5f, 255), 1u);
  EXPECT_EQ(clamp_round(254.5f, 255), 255u);
  EXPECT_EQ(clamp_round(16777215.0f, 16777216), 16777215u);
  for (const float low : {kNan, -kNan, -kInf, -kHuge, -1.0f, -0.0f}) EXPECT_EQ(clamp_round(low, 255), 0u);
  for (const float high : {255.0f, 256.0f, kHuge, kInf}) EXPECT_EQ(clamp_round(high, 255), 255u);
  EXPECT_EQ(to_unorm(kHuge, 65535), 65535u);
}

TEST(Quantise, FieldsAreFixedPoints) {
  for (const std::uint32_t max : {1u, 255u, 1023u, 2047u, 65535u})
    for (std::uint32_t field = 0; field <= max; ++field)
      ASSERT_EQ(to_unorm(from_unorm(field, max), max), field);
  for (int i = 0; i < 256; ++i) {
    const auto byte = static_cast<std::uint8_t>(i);
    EXPECT_TRUE(std::isfinite(logit_of_byte(byte))) << i;
    EXPECT_EQ(opacity_byte(logit_of_byte(byte)), byte);
    EXPECT_NEAR(Math<float>::sigmoid(logit_of_byte(byte)), static_cast<float>(i) / 255, 0.26f / 255);
    const float color = from_unorm(byte, 255);
    EXPECT_EQ(to_unorm(color_from_base(base_from_color(color)), 255), byte);
  }
  EXPECT_EQ(opacity_byte(-kInf), 0);
  EXPECT_EQ(opacity_byte(kInf), 255);
  EXPECT_EQ(opacity_byte(kNan), 0);
}

TEST(Quantise, ScalesAndColorsDoNotDrift) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> log_scales(-90, 90), bases(-20, 20);
  for (int i = 0; i < 50'000; ++i) {
    const float scale = scale_from_log(i % 2 == 0 ? log_scales(random) : log_scales(random) / 90);
    ASSERT_EQ(scale_from_log(log_from_scale(scale)), scale);
    const float color = color_from_base(i % 2 == 0 ? bases(random) : bases(random) / 20);
    ASSERT_EQ(color_from_base(base_from_color(color)), color);
  }
  EXPECT_NEAR(scale_from_log(-2), std::exp(-2.0f), 1e-7f);
  EXPECT_EQ(log_from_scale(-0.5f), std::log(0.5f));
  for (const float any : {kNan, -kInf, -kHuge, 0.0f, kHuge, kInf}) {
    EXPECT_TRUE(std::isnormal(scale_from_log(any))) << any;
    EXPECT_TRUE(std::isnan(any) || std::isnormal(log_from_scale(any))) << any;
  }
}

TEST(Quantise, UnitQuaternionTakesAnyNumbers) {
  EXPECT_EQ(unit_quaternion({0, 0, -3, 4}), Vec4f(0, 0, -0.6f, 0.8f));
  EXPECT_EQ(unit_quaternion({0, kHuge, 0, 0}), Vec4f(0, 1, 0, 0));
  EXPECT_EQ(unit_quaternion({0, 0, -std::numeric_limits<float>::denorm_min(), 0}), Vec4f(0, 0, -1, 0));
  for (const float bad : {0.0f, kInf, -kInf, kNan})
    EXPECT_EQ(unit_quaternion({0, bad, 0, 0}), Vec4f(1, 0, 0, 0)) << bad;
}

// Rotations with nearly equal components are as frequent here as random ones.
std::array<float, 4> some_rotation(std::mt19937& random) {
  std::normal_distribution<float> normal;
  Vec4f q(normal(random), normal(random), normal(random), normal(random));
  if (random() % 2 == 0) q.y = q.x * (1 + 1e-3f * normal(random));
  if (random() % 4 == 0) q.z = -q.x * (1 + 1e-3f * normal(random));
  if (random() % 4 == 0) q.w = q.y * (1 + 1e-3f * normal(random));
  if (random() % 8 == 0) q.z = q.w = 0;
  q = unit_quaternion(q);
  return {q.x, q.y, q.z, q.w};
}

TEST(Quantise, SmallestThreeIsAccurateAndAFixedPoint) {
  std::mt19937 random(5);
  for (const std::uint32_t max : {255u, 1023u}) {
    const UnormComponent component{max};
    const float step = 1.41421356f / static_cast<float>(max);
    for (int i = 0; i < 50'000; ++i) {
      const std::array<float, 4> q = some_rotation(random);
      const SmallestThree code = encode_smallest_three(q, component);
      const std::array<float, 4> back = decode_smallest_three(code, component);
      float cosine = 0, length = 0;
      for (int k = 0; k < 4; ++k) {
        cosine += q[k] * back[k];
        length += back[k] * back[k];
      }
      ASSERT_NEAR(length, 1, 1e-5f);
      // Two fields are off by half a step, one that is rounded twice by a step, and the largest component by
      // at most sqrt(3) times as much as they are together: 6 steps squared. The cosine is less than 1 by
      // half of that.
      ASSERT_GT(std::abs(cosine), 1 - 3 * step * step) << i;
      const SmallestThree again = encode_smallest_three(back, component);
      ASSERT_EQ(again.largest, code.largest) << i;
      ASSERT_EQ(again.fields, code.fields) << i;
    }
  }
}

TEST(Quantise, SmallestThreeInThirtyTwoBits) {
  EXPECT_EQ(pack_smallest_three({2, {1, 2, 3}}), 2u << 30 | 1u << 20 | 2u << 10 | 3u);
  const SmallestThree back = unpack_smallest_three(pack_smallest_three({3, {1023, 0, 512}}));
  EXPECT_EQ(back.largest, 3u);
  EXPECT_EQ(back.fields, (std::array<std::uint32_t, 3>{1023, 0, 512}));
}

TEST(HalfFloat, EveryHalfHasItsValue) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = float_from_half(static_cast<std::uint16_t>(bits));
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const auto mantissa = static_cast<float>(bits & 1023);
    EXPECT_EQ(std::signbit(value), bits >> 15 == 1) << bits;
    if (exponent == 31) {
      EXPECT_TRUE(mantissa == 0 ? std::isinf(value) : std::isnan(value)) << bits;
    } else {
      const float expected =
          exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
      EXPECT_EQ(std::abs(value), expected) << bits;
    }
  }
}

}  // namespace
}  // namespace stipple
