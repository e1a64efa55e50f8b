// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/nearest_name.h"

#include <gtest/gtest.h>

#include <vector>

namespace stipple {
namespace {

const std::vector<std::string> kNames = {"steps", "stop-at", "seed", "max-gaussians", "eval", "ssim-weight"};

TEST(NearestName, FindsNamesThatAreMistypedByALetterOrTwo) {
  EXPECT_EQ(nearest_name("step", kNames), "steps");   // one letter missing
  EXPECT_EQ(nearest_name("setps", kNames), "steps");  // two letters swapped
  EXPECT_EQ(nearest_name("sead", kNames), "seed");    // one letter wrong
  EXPECT_EQ(nearest_name("max-gausians", kNames), "max-gaussians");
  EXPECT_EQ(nearest_name("max_gaussian", kNames), "max-gaussians");
  EXPECT_EQ(nearest_name("evall", kNames), "eval");  // one letter too many
}

TEST(NearestName, IsEmptyIfNothingIsSimilar) {
  EXPECT_EQ(nearest_name("background", kNames), "");
  EXPECT_EQ(nearest_name("x", kNames), "");
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("steps", {}), "");
}

}  // namespace
}  // namespace stipple
