// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/step_delay.h"

#include <gtest/gtest.h>

namespace stipple {
namespace {

StepDelay after_plain_steps(int count, double step_s) {
  StepDelay delay;
  for (int i = 0; i < count; ++i) EXPECT_EQ(delay.charge(step_s, false), 0);
  return delay;
}

TEST(StepDelay, ChargesWhatADisturbedStepTakesLonger) {
  StepDelay delay = after_plain_steps(50, 0.010);
  EXPECT_NEAR(delay.charge(0.014, true), 0.004, 1e-12);
  EXPECT_NEAR(delay.charge(0.010, true), 0, 1e-12);
}

TEST(StepDelay, ChargesNothingBeforePlainStepsAreKnown) {
  StepDelay delay;
  EXPECT_EQ(delay.charge(0.5, true), 0);
  EXPECT_EQ(delay.charge(0.010, false), 0);
  EXPECT_NEAR(delay.charge(0.012, true), 0.002, 1e-12);
}

TEST(StepDelay, ShorterStepsAreSetOffAgainstLaterOnes) {
  StepDelay delay = after_plain_steps(50, 0.010);
  double charged = 0;
  for (int i = 0; i < 1000; ++i) charged += delay.charge(i % 2 == 0 ? 0.008 : 0.013, true);
  EXPECT_NEAR(charged, 1000 * 0.0005, 1e-6);
}

TEST(StepDelay, AStepThatAlsoSavedIsNotChargedInFull) {
  StepDelay delay = after_plain_steps(50, 0.010);
  EXPECT_NEAR(delay.charge(1.0, true), 19 * 0.010, 1e-12);
}

// Or a picture during the growth of a model would be charged for the growth.
TEST(StepDelay, FollowsStepsThatBecomeLonger) {
  StepDelay delay = after_plain_steps(50, 0.010);
  for (int i = 0; i < 500; ++i) delay.charge(0.020, false);
  EXPECT_NEAR(delay.charge(0.020, true), 0, 1e-4);
}

}  // namespace
}  // namespace stipple
