// SPDX-License-Identifier: Apache-2.0
#include "stipple/ranks/mpi/stop_clock.h"

#include <gtest/gtest.h>

namespace stipple {
namespace {

using namespace std::chrono_literals;

constexpr auto kGrace = 500ms;
const StopClock::Time kStart{1h};

// Looks every 10 ms from `begin` to `end`; whether it gives up.
bool gives_up(StopClock& clock, StopClock::Time begin, StopClock::Time end, bool is_asked_to_end) {
  bool is_over = false;
  for (auto now = begin; now <= end; now += 10ms) is_over |= clock.is_over(now, is_asked_to_end);
  return is_over;
}

TEST(StopClock, WaitsForeverUntilItIsAskedToEnd) {
  StopClock clock(kGrace);
  clock.restart(kStart);
  EXPECT_FALSE(gives_up(clock, kStart, kStart + 60s, false));
  EXPECT_FALSE(gives_up(clock, kStart + 60s, kStart + 60s + kGrace, true));
  EXPECT_TRUE(gives_up(clock, kStart + 60s + kGrace, kStart + 61s, true));
}

TEST(StopClock, GivesNobodyUpWhileTheRanksAnswer) {
  StopClock clock(kGrace);
  for (int exchange = 0; exchange < 100; ++exchange) {  // of 0.4 s each
    const auto begin = kStart + exchange * 400ms;
    clock.restart(begin);
    EXPECT_FALSE(gives_up(clock, begin, begin + 400ms, true));
  }
}

// A step takes 2.5 s on every rank, so that no rank looks meanwhile.
TEST(StopClock, CountsOnlyTheTimeOfWaiting) {
  StopClock clock(kGrace);
  clock.restart(kStart);
  const auto end_of_step = kStart + 2500ms;
  EXPECT_FALSE(clock.is_over(end_of_step, true));
  EXPECT_FALSE(gives_up(clock, end_of_step, end_of_step + 400ms, true));
  EXPECT_TRUE(gives_up(clock, end_of_step + 400ms, end_of_step + 600ms, true));
}

}  // namespace
}  // namespace stipple
