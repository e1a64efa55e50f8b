// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/training_history.h"

#include <gtest/gtest.h>

namespace stipple {
namespace {

TrainingPoint at(int step) {
  return {step, 0.5 * step, 1.0 / step, 0.01 * step, static_cast<std::size_t>(100 + step)};
}

TEST(TrainingHistory, PointsAreMeansOfSteps) {
  TrainingHistory history;
  for (int step = 1; step < 10; ++step) EXPECT_FALSE(history.add(at(step)));
  const auto point = history.add(at(10));
  ASSERT_TRUE(point);
  EXPECT_EQ(point->step, 10);
  EXPECT_EQ(point->seconds, 5);
  EXPECT_NEAR(point->psnr, 0.055, 1e-12);
  EXPECT_EQ(point->gaussian_count, 110u);
  for (int step = 11; step <= 20; ++step) history.add(at(step));
  ASSERT_EQ(history.points().size(), 2u);
  EXPECT_NEAR(history.points()[1].psnr, 0.155, 1e-12);
}

TEST(TrainingHistory, ALongRunIsThinnedOutEvenly) {
  TrainingHistory history(100);
  double psnr = 0;
  for (int step = 1; step <= 30'000; ++step) {
    history.add(at(step));
    ASSERT_LE(history.points().size(), 101u);
  }
  const auto& points = history.points();
  EXPECT_GE(points.size(), 50u);
  EXPECT_GT(points.back().step, 29'000);
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_GT(points[i].step, points[i - 1].step);
    EXPECT_LE(points[i].step - points[i - 1].step, 2 * 30'000 / 50);
    psnr = 0.01 * (points[i].step + points[i - 1].step + 1) / 2;
    if (points[i].step - points[i - 1].step == points[1].step - points[0].step) {
      EXPECT_NEAR(points[i].psnr, psnr, 1e-6) << i;
    }
  }
}

TEST(TrainingHistory, ARunThatWentBackReplacesItsPoints) {
  TrainingHistory history;
  for (int step = 1; step <= 95; ++step) history.add(at(step));
  for (int step = 41; step <= 60; ++step) history.add(at(step));
  ASSERT_EQ(history.points().size(), 6u);
  EXPECT_EQ(history.points().back().step, 60);
  EXPECT_NEAR(history.points()[4].psnr, 0.455, 1e-12);

  TrainingHistory resumed;  // from the log, which has other intervals
  resumed.add_point(at(100));
  resumed.add_point(at(130));
  for (int step = 131; step <= 140; ++step) resumed.add(at(step));
  EXPECT_EQ(resumed.points().size(), 3u);
  EXPECT_NEAR(resumed.points()[2].psnr, 1.355, 1e-12);
}

}  // namespace
}  // namespace stipple
