// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/frame_scheduler.h"

#include <gtest/gtest.h>

#include <vector>

namespace stipple {
namespace {

using Answer = FrameScheduler::Answer;

constexpr int kWidth = 960, kHeight = 600;

// A machine that renders what the scheduler asks for, at a known cost, and does other work in between. Every
// picture is drawn at once, except by visitors who never say so.
class Machine {
 public:
  explicit Machine(double share, double fixed_s = 0.002, double per_pixel_s = 20e-9)
      : fixed_s_(fixed_s), per_pixel_s_(per_pixel_s) {
    scheduler.set_pace(share);
  }

  FrameScheduler scheduler;
  double now_s = 0, work_s = 0.001;
  std::vector<Answer> answers;
  std::vector<double> times_s;  // when they were ready
  FrameScheduler::Visitor silent = nullptr;

  double cost_s(const Answer& a) const {
    return a.request.picture_count * (fixed_s_ + per_pixel_s_ * a.width_px * a.height_px);
  }

  // Whether there was a picture to render.
  bool render() {
    const FrameScheduler::Next next = scheduler.next(now_s);
    if (!next.answer) return false;
    now_s += cost_s(*next.answer);
    scheduler.finished(*next.answer, cost_s(*next.answer));
    if (next.answer->visitor != silent)
      for (int i = 0; i < next.answer->request.picture_count; ++i)
        scheduler.shown(next.answer->visitor, next.answer->request.serial);
    answers.push_back(*next.answer);
    times_s.push_back(now_s);
    return true;
  }

  // Renders at most one picture between two pieces of work.
  template <class BeforeWork>
  void run(double seconds, BeforeWork before_work) {
    for (const double end_s = now_s + seconds; now_s < end_s;) {
      before_work();
      render();
      now_s += work_s;
    }
  }
  void run(double seconds) {
    run(seconds, [] {});
  }

 private:
  double fixed_s_, per_pixel_s_;
};

PictureRequest request(std::int64_t serial, bool is_moving = false, int picture_count = 1) {
  return {serial, kWidth, kHeight, picture_count, is_moving};
}

std::vector<int> visitors(int count) { return std::vector<int>(static_cast<std::size_t>(count)); }

TEST(FrameScheduler, AsksForNothingWhenNobodyWatches) {
  Machine machine(0.1);
  EXPECT_FALSE(machine.scheduler.is_anyone_waiting());
  const int visitor = 0;
  machine.scheduler.want(&visitor, request(1), machine.now_s);
  EXPECT_TRUE(machine.scheduler.is_anyone_waiting());
  machine.scheduler.rest(&visitor);
  EXPECT_FALSE(machine.scheduler.is_anyone_waiting());
  machine.scheduler.set_model_version(7);
  const FrameScheduler::Next next = machine.scheduler.next(100);
  EXPECT_FALSE(next.answer);
  EXPECT_FALSE(next.ask_again_s);
}

TEST(FrameScheduler, SharpensAtRestAndThenStops) {
  Machine machine(1, 0.002, 1e-6);  // half a second at full size
  const int visitor = 0;
  machine.scheduler.want(&visitor, request(1), 0);
  while (machine.render()) {
  }
  ASSERT_GE(machine.answers.size(), 3u);
  EXPECT_LE(machine.answers.front().width_px, kWidth / 4);
  for (std::size_t i = 1; i < machine.answers.size(); ++i)
    EXPECT_GT(machine.answers[i].width_px, machine.answers[i - 1].width_px);
  EXPECT_EQ(machine.answers.back().width_px, kWidth);
  EXPECT_EQ(machine.answers.back().height_px, kHeight);
  EXPECT_TRUE(machine.answers.back().is_sharp);
  EXPECT_FALSE(machine.scheduler.next(1000).ask_again_s);
}

TEST(FrameScheduler, ASharpPictureComesAtOnceWhereItIsQuick) {
  Machine machine(1);
  const int visitor = 0;
  machine.scheduler.want(&visitor, request(1), 0);
  while (machine.render()) {
  }
  machine.answers.clear();
  machine.scheduler.want(&visitor, request(2), machine.now_s);
  while (machine.render()) {
  }
  ASSERT_EQ(machine.answers.size(), 1u);
  EXPECT_TRUE(machine.answers[0].is_sharp);
}

// While the camera moves, pictures are so small that many come; a camera that stops gets a sharp one.
TEST(FrameScheduler, PicturesComeAtAGoodRateWhileTheCameraMoves) {
  for (const double share : {0.1, 1.0}) {
    const double per_pixel_s = share < 1 ? 40e-9 : 400e-9;  // at full size 23 ms and 230 ms
    Machine machine(share, 0.001, per_pixel_s);
    const int visitor = 0;
    std::int64_t serial = 0;
    const auto move = [&] { machine.scheduler.want(&visitor, request(++serial, true), machine.now_s); };
    machine.run(2, move);  // it learns the costs
    machine.answers.clear();
    machine.run(4, move);
    EXPECT_GE(machine.answers.size(), 4u * 12) << share;
    EXPECT_LT(machine.answers.back().width_px, kWidth);
    EXPECT_GT(machine.answers.back().width_px, kWidth / 8);
    for (const Answer& a : machine.answers) EXPECT_EQ(a.width_px, machine.answers[0].width_px) << "flickers";
    machine.scheduler.want(&visitor, request(++serial), machine.now_s);
    machine.run(2);
    EXPECT_TRUE(machine.answers.back().is_sharp);
  }
}

TEST(FrameScheduler, ACameraThatSaysItMovesButDoesNotIsAtRest) {
  Machine machine(1, 0.001, 400e-9);
  const int visitor = 0;
  machine.scheduler.want(&visitor, request(1, true), 0);
  EXPECT_TRUE(machine.render());
  EXPECT_FALSE(machine.answers.back().is_sharp);
  const FrameScheduler::Next next = machine.scheduler.next(machine.now_s);
  ASSERT_TRUE(next.ask_again_s);
  machine.now_s = *next.ask_again_s;
  while (machine.render()) {
  }
  EXPECT_TRUE(machine.answers.back().is_sharp);
}

TEST(FrameScheduler, AtMostTwoAnswersAreAheadOfAVisitor) {
  for (const int picture_count : {1, 2}) {
    Machine machine(1);
    const int visitor = 0;
    machine.silent = &visitor;
    for (int serial = 1; serial <= 5; ++serial) {
      machine.scheduler.want(&visitor, request(serial, true, picture_count), machine.now_s);
      machine.render();
    }
    EXPECT_EQ(machine.answers.size(), 2u);
    EXPECT_FALSE(machine.scheduler.next(machine.now_s).ask_again_s);
    machine.scheduler.shown(&visitor, 1);
    EXPECT_EQ(machine.render(), picture_count == 1);
    machine.scheduler.shown(&visitor, 1);
    EXPECT_EQ(machine.render(), picture_count == 2);
    EXPECT_EQ(machine.answers.back().request.serial, 5);
  }
}

TEST(FrameScheduler, AnAcknowledgementCoversSkippedPictures) {
  Machine machine(1);
  const int visitor = 0;
  machine.silent = &visitor;
  for (int serial = 1; serial <= 2; ++serial) {
    machine.scheduler.want(&visitor, request(serial, true), machine.now_s);
    machine.render();
  }
  machine.scheduler.shown(&visitor, 2);
  machine.scheduler.shown(&visitor, 77);  // never sent
  for (int serial = 3; serial <= 5; ++serial) {
    machine.scheduler.want(&visitor, request(serial, true), machine.now_s);
    machine.render();
  }
  EXPECT_EQ(machine.answers.size(), 4u);
}

TEST(FrameScheduler, AVisitorAtRestSeesTheModelChange) {
  Machine machine(0.1);
  const int visitor = 0;
  machine.scheduler.want(&visitor, request(1), 0);
  std::int64_t step = 0;
  machine.run(5, [&] { machine.scheduler.set_model_version(++step); });
  // At full size, a picture costs 13.5 ms: 7 per second.
  EXPECT_GE(machine.answers.size(), 30u);
  EXPECT_LE(machine.answers.size(), 40u);
  EXPECT_TRUE(machine.answers.back().is_sharp);
  machine.run(2);  // the last one may have been planned for an earlier step
  const std::size_t count = machine.answers.size();
  machine.run(5);
  EXPECT_EQ(machine.answers.size(), count);
}

// Whoever watches, with whatever costs, the pictures take no more than their share.
TEST(FrameScheduler, KeepsTheBudget) {
  for (const double share : {0.02, 0.1, 0.5})
    for (const double fixed_s : {0.0005, 0.02, 1.0})
      for (const int count : {1, 7}) {
        Machine machine(share, fixed_s, 50e-9);
        const std::vector<int> all = visitors(count);
        std::int64_t step = 0, serial = 0;
        const auto before_work = [&] {
          machine.scheduler.set_model_version(++step);
          for (std::size_t i = 0; i < all.size(); ++i)  // some move now and then, others are at rest
            if (step == 1 || (i % 2 == 0 && step / 500 % 2 == 0))
              machine.scheduler.want(&all[i], request(++serial, step > 1), machine.now_s);
        };
        machine.run(60, before_work);
        // Before anything is known about the costs, one picture may exceed the share.
        const double excess_s = 0.1 + fixed_s + 50e-9 * kWidth * kHeight;
        EXPECT_LE(machine.scheduler.spent_s(), share * machine.now_s + excess_s)
            << share << " " << fixed_s << " " << count;
        // It is used, too, unless everybody who looks has seen everything.
        EXPECT_GE(machine.scheduler.spent_s(), 0.3 * share * machine.now_s - excess_s)
            << share << " " << fixed_s << " " << count;
      }
}

// Someone who watches a slow device at rest has it busy with sharp pictures that are paid for in advance, so
// that there is no debt to pay off when he begins to move.
TEST(FrameScheduler, ALargePictureDoesNotDelayTheNextSmallOne) {
  Machine machine(0.1, 0.005, 2e-6);  // at full size 1.2 s
  const int visitor = 0;
  std::int64_t step = 0;
  const auto change = [&] { machine.scheduler.set_model_version(++step); };
  machine.scheduler.want(&visitor, request(1), 0);
  machine.run(100, change);
  ASSERT_TRUE(machine.answers.back().is_sharp);
  while (!machine.render()) machine.run(machine.work_s, change);
  ASSERT_TRUE(machine.answers.back().is_sharp);
  const double before_s = machine.now_s;
  machine.scheduler.want(&visitor, request(2, true), machine.now_s);
  while (machine.answers.back().request.serial == 1) machine.run(machine.work_s, change);
  EXPECT_LT(machine.now_s - before_s, 1);
}

TEST(FrameScheduler, AnExpensivePictureComesThroughAndNoBurstFollowsAPause) {
  Machine machine(0.1, 5, 0);
  const int visitor = 0;
  machine.scheduler.want(&visitor, request(1), 0);
  machine.run(400);
  ASSERT_LE(machine.answers.size(), 3u);
  EXPECT_TRUE(machine.answers.back().is_sharp);

  Machine cheap(0.1, 0.01, 0);
  cheap.scheduler.want(&visitor, request(1), 0);
  cheap.run(5);
  cheap.scheduler.rest(&visitor);
  cheap.run(100);
  const double before_s = cheap.scheduler.spent_s();
  std::int64_t serial = 1;
  cheap.run(1, [&] { cheap.scheduler.want(&visitor, request(++serial, true), cheap.now_s); });
  EXPECT_LE(cheap.scheduler.spent_s() - before_s, 0.1 * 1 + 0.12);
}

TEST(FrameScheduler, TwentyVisitorsAreServedAlikeBesideOneWhoNeverAcknowledges) {
  for (const double share : {0.1, 1.0}) {
    Machine machine(share, 0.001, 5e-9);
    const std::vector<int> all = visitors(21);
    machine.silent = &all[20];
    std::int64_t serial = 0;
    machine.run(30, [&] {
      ++serial;
      for (const int& visitor : all) machine.scheduler.want(&visitor, request(serial, true), machine.now_s);
    });
    std::vector<int> count(all.size());
    for (const Answer& a : machine.answers)
      ++count[static_cast<std::size_t>(static_cast<const int*>(a.visitor) - all.data())];
    const int mean = static_cast<int>(machine.answers.size()) / 20;
    EXPECT_GE(mean, 10);
    for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(count[i], mean, 0.2 * mean + 1) << share << " " << i;
    EXPECT_EQ(count[20], 2);
  }
}

// Two visitors, one at rest with large pictures and one who moves: both get half of the time.
TEST(FrameScheduler, AVisitorWhoMovesAndOneAtRestShareTheTime) {
  Machine machine(0.1, 0.001, 200e-9);
  const int at_rest = 0, moving = 0;
  std::int64_t step = 0;
  machine.scheduler.want(&at_rest, request(1), 0);
  machine.run(60, [&] {
    machine.scheduler.set_model_version(++step);
    machine.scheduler.want(&moving, request(step, true), machine.now_s);
  });
  double at_rest_s = 0, moving_s = 0;
  for (const Answer& a : machine.answers) (a.visitor == &at_rest ? at_rest_s : moving_s) += machine.cost_s(a);
  EXPECT_NEAR(at_rest_s, moving_s, 0.25 * moving_s);
}

// The caller has a step of a second to do between two pictures, and then time for a larger one.
TEST(FrameScheduler, PicturesAreLargerWhereTheRateIsLowAnyway) {
  int width_px[2];
  for (const bool knows : {false, true}) {
    Machine machine(0.1, 0.001, 400e-9);
    machine.work_s = 1;
    machine.scheduler.set_pace(0.1, knows ? 1 : 0);
    const int visitor = 0;
    std::int64_t serial = 0;
    machine.run(30, [&] { machine.scheduler.want(&visitor, request(++serial, true), machine.now_s); });
    width_px[knows] = machine.answers.back().width_px;
    EXPECT_GE(machine.answers.size(), 20u);
  }
  EXPECT_GE(width_px[true], 2 * width_px[false]);
}

TEST(FrameScheduler, AVisitorWhoComesAgainAndAgainDoesNotGetMore) {
  Machine machine(0.1, 0.02, 100e-9);
  const std::vector<int> all = visitors(2'000);
  std::size_t step = 0;
  machine.run(20, [&] {
    if (++step % 20 != 0) return;
    machine.scheduler.leave(&all[step / 20 - 1]);
    machine.scheduler.want(&all[step / 20], request(1), machine.now_s);
  });
  EXPECT_LE(machine.scheduler.spent_s(), 0.1 * machine.now_s + 0.2);
}

TEST(FrameScheduler, AfterAFailurePicturesAreSmallerAndComeLater) {
  Machine machine(1);
  const int visitor = 0;
  machine.scheduler.want(&visitor, request(1), 0);
  while (!machine.answers.size() || !machine.answers.back().is_sharp) machine.render();
  machine.scheduler.want(&visitor, request(2), machine.now_s);
  const FrameScheduler::Next failed = machine.scheduler.next(machine.now_s);
  ASSERT_TRUE(failed.answer && failed.answer->is_sharp);
  machine.scheduler.failed(*failed.answer, machine.now_s);
  const FrameScheduler::Next later = machine.scheduler.next(machine.now_s);
  ASSERT_TRUE(!later.answer && later.ask_again_s);
  machine.now_s = *later.ask_again_s;
  machine.answers.clear();
  while (machine.render()) {
  }
  ASSERT_FALSE(machine.answers.empty());
  EXPECT_EQ(machine.answers.back().width_px, kWidth / 2);
  EXPECT_FALSE(machine.answers.back().is_sharp);
}

TEST(FrameScheduler, OtherWorkIsPaidFromTheSameShare) {
  Machine machine(0.1);
  const int visitor = 0;
  machine.scheduler.want(&visitor, request(1), 0);
  std::int64_t step = 0;
  int jobs = 0;
  machine.run(60, [&] {
    machine.scheduler.set_model_version(++step);
    if (machine.scheduler.has_debt()) return;
    machine.now_s += 0.5;
    machine.scheduler.spend(0.5);
    ++jobs;
  });
  EXPECT_GE(jobs, 5);
  EXPECT_LE(machine.scheduler.spent_s(), 0.1 * machine.now_s + 0.7);
}

TEST(PictureCost, LearnsTheFixedPartAndThePartPerPixel) {
  PictureCost cost;
  EXPECT_FALSE(cost.is_known());
  cost.add(10'000, 0.02);
  EXPECT_NEAR(cost.seconds(10'000), 0.02, 1e-9);
  EXPECT_GT(cost.fixed_s(), 0);
  for (int i = 0; i < 30; ++i) {
    const double pixels = i % 2 == 0 ? 20'000 : 500'000;
    cost.add(pixels, 0.01 + 1e-7 * pixels);
  }
  EXPECT_NEAR(cost.seconds(250'000), 0.035, 0.002);
  EXPECT_NEAR(cost.fixed_s(), 0.01, 0.002);
}

}  // namespace
}  // namespace stipple
