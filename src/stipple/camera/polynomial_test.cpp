// SPDX-License-Identifier: Apache-2.0
#include "stipple/camera/polynomial.h"

#include <gtest/gtest.h>

namespace stipple {
namespace {

TEST(Polynomial, Evaluates) {
  EXPECT_EQ(evaluate({3, -2, 5}, 2.0), 19);
  EXPECT_EQ(evaluate({}, 2.0), 0);
}

TEST(Polynomial, DifferentiatesAddsAndMultiplies) {
  EXPECT_EQ(derivative({7, 3, -2, 5}), (Polynomial{3, -4, 15}));
  EXPECT_EQ(derivative({7}), Polynomial{});
  EXPECT_EQ((Polynomial{1, 2} + Polynomial{3, 4, 5}), (Polynomial{4, 6, 5}));
  EXPECT_EQ(evaluate(Polynomial{1, 2} * Polynomial{3, 4, 5}, 3.0), 7 * 60);
}

TEST(Polynomial, FindsEverySignChange) {
  Polynomial p{1};
  for (const double root : {0.1, 0.5, 0.500001, 3.0, 20.0, 1e4}) p = p * Polynomial{-root, 1};
  const std::vector<double> changes = sign_changes(p, 0, 1000);
  ASSERT_EQ(changes.size(), 5u);
  EXPECT_NEAR(changes[0], 0.1, 1e-12);
  EXPECT_NEAR(changes[1], 0.5, 1e-8);  // roots this close are less accurate
  EXPECT_NEAR(changes[2], 0.500001, 1e-8);
  EXPECT_NEAR(changes[3], 3, 1e-11);
  EXPECT_NEAR(changes[4], 20, 1e-9);
}

TEST(Polynomial, ReturnsLastNumberBeforeSignChange) {
  const Polynomial p{2, 0, -1};
  const double change = sign_changes(p, 0, 10).at(0);
  EXPECT_GE(evaluate(p, change), 0);
  EXPECT_NEAR(change, 1.4142135623730951, 1e-15);
}

TEST(Polynomial, FindsNoFalseSignChanges) {
  EXPECT_TRUE(sign_changes({1}, 0, 10).empty());
  EXPECT_TRUE(sign_changes({1, 0, 0}, 0, 10).empty());
  EXPECT_TRUE(sign_changes({0, 0}, 0, 10).empty());
  EXPECT_TRUE(sign_changes({1, 0, 1}, -10, 10).empty());
  EXPECT_TRUE(sign_changes({0, 0, 1}, -10, 10).empty());  // touches zero without crossing it
  EXPECT_TRUE(sign_changes({-3, 1}, 0, 2).empty());
}

}  // namespace
}  // namespace stipple
