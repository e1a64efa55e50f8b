// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/random.h"

#include <gtest/gtest.h>

namespace stipple {
namespace {

TEST(Random, IsTheSameOnEveryPlatform) {
  Random random(42);
  EXPECT_EQ(random.bits(), Random(42).bits());
  EXPECT_NE(Random(42).bits(), Random(43).bits());
  // These values must never change, because training from a seed must be reproducible.
  EXPECT_EQ(Random(0).bits(), 0xa706dd2f4d197e6full);
  EXPECT_EQ(Random(1, 1000).bits(), 0xcd60691d743dac6cull);
}

TEST(Random, CanStartAtAnyCounter) {
  Random random(7);
  for (int i = 0; i < 100; ++i) random.bits();
  EXPECT_EQ(random.counter(), 100u);
  Random later(7, random.counter());
  EXPECT_EQ(random.bits(), later.bits());
}

TEST(Random, UniformFillsItsRangeEvenly) {
  Random random(3);
  int bins[10] = {};
  for (int i = 0; i < 100000; ++i) {
    float u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    ++bins[static_cast<int>(u * 10)];
  }
  for (int count : bins) EXPECT_NEAR(count, 10000, 500);
}

TEST(Random, BelowIsInRangeAndReachesBothEnds) {
  Random random(4);
  bool lowest = false, highest = false;
  for (int i = 0; i < 1000; ++i) {
    std::uint64_t v = random.below(7);
    ASSERT_LT(v, 7u);
    lowest |= v == 0;
    highest |= v == 6;
  }
  EXPECT_TRUE(lowest && highest);
}

TEST(Random, SkippingEqualsDrawing) {
  Random drawn(3), skipped(3);
  for (int i = 0; i < 5; ++i) drawn.bits();
  skipped.skip(5);
  EXPECT_EQ(drawn.bits(), skipped.bits());
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(5);
  double sum = 0, squares = 0;
  const int n = 100000;
  for (int i = 0; i < n; ++i) {
    double v = random.normal();
    sum += v;
    squares += v * v;
  }
  EXPECT_NEAR(sum / n, 0, 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
}

}  // namespace
}  // namespace stipple
