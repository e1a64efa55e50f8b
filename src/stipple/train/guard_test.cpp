// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/guard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

namespace stipple {
namespace {

// Scores of the watched views, one every 100 steps; training itself goes on as it should.
std::vector<Verdict> judge_all(Guard& guard, const std::vector<double>& psnrs) {
  std::vector<Verdict> verdicts;
  for (std::size_t i = 0; i < psnrs.size(); ++i) {
    guard.add_training_step(20);
    verdicts.push_back(guard.judge({static_cast<int>(100 * (i + 1)), 1000, psnrs[i], true}));
  }
  return verdicts;
}

constexpr Verdict kKeep = Verdict::kKeep, kGoOn = Verdict::kGoOn;

TEST(Guard, KeepsEveryModelThatIsNotWorseThanTheBest) {
  Guard guard(50);
  EXPECT_EQ(judge_all(guard, {20, 21, 20.95, 20.95, 20.95, 20.95, 22}),
            (std::vector<Verdict>{kKeep, kKeep, kGoOn, kGoOn, kGoOn, kGoOn, kKeep}));
  EXPECT_EQ(guard.state().best_step, 700);
  EXPECT_TRUE(guard.state().may_grow);
}

TEST(Guard, StopsGrowthAndThenEndsTheRunWhenTheWatchedViewsGetWorse) {
  Guard guard(50);
  EXPECT_EQ(judge_all(guard, {20, 21, 20.5, 20.6, 20.7}),
            (std::vector<Verdict>{kKeep, kKeep, kGoOn, kGoOn, Verdict::kStopGrowth}));
  EXPECT_FALSE(guard.state().may_grow);
  EXPECT_EQ(judge_all(guard, {20.8, 20.8, 20.8}), (std::vector<Verdict>{kGoOn, kGoOn, Verdict::kEnd}));
  EXPECT_EQ(guard.state().best_step, 200);
}

TEST(Guard, OneBetterScoreEndsARowOfWorseOnes) {
  Guard guard(50);
  EXPECT_EQ(judge_all(guard, {21, 20, 20, 20.95, 20, 20, 20}),
            (std::vector<Verdict>{kKeep, kGoOn, kGoOn, kGoOn, kGoOn, kGoOn, Verdict::kStopGrowth}));
}

TEST(Guard, NoticesACollapseOfTrainingWithAndWithoutWatchedViews) {
  for (const bool is_watched : {false, true}) {
    Guard guard(10);
    guard.add_training_step(20);
    EXPECT_EQ(guard.judge({100, 1000, 20, is_watched}), kKeep);
    for (int i = 0; i < 100; ++i) guard.add_training_step(12);
    EXPECT_EQ(guard.judge({200, 1000, 12, is_watched}), Verdict::kRecover);
    EXPECT_EQ(guard.state().collapses, 1);
    EXPECT_EQ(guard.state().best_step, 100);
    EXPECT_FALSE(guard.state().may_grow);
    guard.add_training_step(19);  // of the recovered model
    EXPECT_NE(guard.judge({300, 1000, 19, is_watched}), Verdict::kRecover);
  }
}

TEST(Guard, NoticesAModelThatShrinksOrIsNotFinite) {
  Guard guard(10);
  guard.add_training_step(20);
  EXPECT_EQ(guard.judge({100, 1000, 20, true}), kKeep);
  EXPECT_EQ(guard.judge({150, 300, 20, true}), kKeep);  // pruning alone is no collapse
  EXPECT_EQ(guard.judge({200, 1000, 20, true}), kKeep);
  for (int i = 0; i < 3; ++i) guard.add_training_step(15);
  EXPECT_EQ(guard.judge({250, 300, 20, true}), Verdict::kRecover);
  Guard other(10);
  other.add_training_step(20);
  EXPECT_EQ(other.judge({100, 1000, 20, true}), kKeep);
  other.add_training_step(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(other.judge({200, 1000, 20, true}), Verdict::kRecover);
  EXPECT_EQ(other.judge({300, 1000, std::numeric_limits<double>::quiet_NaN(), true}), Verdict::kRecover);
  Guard third(10);
  third.add_training_step(20);
  EXPECT_EQ(third.judge({100, 1000, std::numeric_limits<double>::quiet_NaN(), true}), kGoOn);  // not kept
  EXPECT_EQ(third.state().best_step, 0);
}

// The best model for other views may fit its photos far less than the last one.
TEST(Guard, GoingBackIsNoCollapse) {
  Guard guard(1);
  guard.add_training_step(20);
  EXPECT_EQ(guard.judge({100, 1000, 20, true}), kKeep);
  for (int i = 0; i < 3; ++i) {
    guard.add_training_step(30);
    guard.judge({200 + 100 * i, 1000, 19, true});
  }
  EXPECT_FALSE(guard.state().may_grow);
  guard.add_training_step(20);
  EXPECT_EQ(guard.judge({500, 1000, 19.95, true}), kGoOn);
  EXPECT_EQ(guard.state().collapses, 0);
}

TEST(Guard, AModelThatKeepsCollapsingEndsTheRun) {
  Guard guard(1);
  guard.add_training_step(20);
  EXPECT_EQ(guard.judge({100, 1000, 20, false}), kKeep);
  std::vector<Verdict> verdicts;
  for (int i = 0; i < 4; ++i) {
    guard.add_training_step(10);
    verdicts.push_back(guard.judge({200 + 100 * i, 1000, 10, false}));
  }
  EXPECT_EQ(verdicts,
            (std::vector<Verdict>{Verdict::kRecover, Verdict::kRecover, Verdict::kRecover, Verdict::kEnd}));
}

TEST(Guard, WithoutWatchedViewsASlowDeclineIsNoReasonToGoBack) {
  Guard guard(2);
  for (int i = 0; i < 50; ++i) {
    guard.add_training_step(20 - 0.02 * i);
    const Verdict verdict = guard.judge({100 * (i + 1), 1000, guard.state().training_psnr, false});
    EXPECT_TRUE(verdict == kKeep || verdict == kGoOn);
  }
}

TEST(Guard, WatchesAFewViewsSpreadOverTheCapture) {
  std::vector<std::size_t> views(23);
  std::iota(views.begin(), views.end(), std::size_t{100});
  EXPECT_TRUE(choose_watched(views).empty());
  for (const auto& [count, watched] : {std::pair{24, 3}, {45, 4}, {80, 8}, {1000, 12}}) {
    views.resize(static_cast<std::size_t>(count));
    std::iota(views.begin(), views.end(), std::size_t{100});
    const std::vector<std::size_t> chosen = choose_watched(views);
    ASSERT_EQ(chosen.size(), static_cast<std::size_t>(watched));
    EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
    EXPECT_EQ(std::set<std::size_t>(chosen.begin(), chosen.end()).size(), chosen.size());
    for (std::size_t k = 1; k < chosen.size(); ++k)
      EXPECT_NEAR(static_cast<double>(chosen[k] - chosen[k - 1]), static_cast<double>(count) / watched, 1);
    EXPECT_GE(chosen.front(), 100u);
    EXPECT_LT(chosen.back(), 100u + static_cast<std::size_t>(count));
  }
}

}  // namespace
}  // namespace stipple
