// SPDX-License-Identifier: Apache-2.0
// The trainer on devices with little memory.
#include <gtest/gtest.h>

#include "stipple/train/memory_plan.h"
#include "tests/helpers/limited_backend.h"
#include "tests/helpers/quick_training.h"

namespace stipple {
namespace {

// Enough for about 1000 Gaussians beside the frame buffers; the scene has 1500 points.
constexpr std::size_t kLittleMemory = 1'400'000;

TEST(Memory, TheNumberOfGaussiansIsLimitedToWhatFits) {
  for (const std::size_t cap : {std::size_t{0}, std::size_t{3000}}) {
    TrainOptions o = quick(Strategy::kAdc);
    o.max_gaussians = cap;
    LimitedBackend backend(kLittleMemory);
    Trainer trainer(backend, small_scene(), o);
    EXPECT_GT(trainer.memory_cap(), 500u);
    EXPECT_LT(trainer.memory_cap(), 1500u);
    EXPECT_EQ(trainer.device_gaussians().size(), trainer.memory_cap());
    while (!trainer.done()) EXPECT_LE(trainer.step().gaussian_count, trainer.memory_cap());
  }
}

TEST(Memory, EnoughMemoryChangesNothing) {
  TrainOptions o = quick(Strategy::kMcmc);
  o.stop_at = 60;
  for (const std::size_t cap : {std::size_t{0}, std::size_t{3000}}) {
    o.max_gaussians = cap;
    LimitedBackend backend(std::size_t{1} << 30);
    Trainer trainer(backend, small_scene(), o);
    EXPECT_EQ(trainer.memory_cap() > 0, cap == 0);  // a run without a cap is limited by memory alone
    while (!trainer.done()) trainer.step();
    EXPECT_TRUE(same_bits(train(o), trainer.gaussians()));  // caching photos on the device does not matter
  }
}

TEST(Memory, AnArrayIsEmptyAfterAFailedAllocation) {
  LimitedBackend backend(1000);
  DeviceArray<float> array(backend, std::vector<float>(100, 1.0f));
  EXPECT_THROW(array.resize(backend, 1000), OutOfMemory);
  EXPECT_TRUE(array.empty());
  EXPECT_TRUE(array.download(backend).empty());
  array.resize_zero(backend, 100);
  EXPECT_EQ(array.download(backend), std::vector<float>(100, 0.0f));
}

TEST(Memory, RejectsTooLittleForASingleImage) {
  LimitedBackend backend(1000);
  EXPECT_THROW(Trainer(backend, small_scene(), quick(Strategy::kAdc)), OutOfMemory);
}

class MemoryTest : public testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(, MemoryTest, testing::Values(Strategy::kAdc, Strategy::kMcmc),
                         [](const auto& strategy) { return name_of(strategy.param); });

TEST_P(MemoryTest, ResizingInPlaceChangesNothing) {
  TrainOptions o = quick(GetParam());
  o.stop_at = 120;
  LimitedBackend backend(std::size_t{1} << 30, Resizing::kInPlace);
  Trainer trainer(backend, small_scene(), o);
  while (!trainer.done()) trainer.step();
  EXPECT_TRUE(same_bits(train(o), trainer.gaussians()));
}

// Wherever memory runs out, no step is left half done: with more memory the run continues to the same bits.
class RunningOutTest : public testing::TestWithParam<std::tuple<Strategy, Resizing>> {};
INSTANTIATE_TEST_SUITE_P(, RunningOutTest,
                         testing::Combine(testing::Values(Strategy::kAdc, Strategy::kMcmc),
                                          testing::Values(Resizing::kByCopy, Resizing::kInPlace)),
                         [](const auto& params) {
                           const bool is_in_place = std::get<1>(params.param) == Resizing::kInPlace;
                           return name_of(std::get<0>(params.param)) + (is_in_place ? "_in_place" : "");
                         });

TEST_P(RunningOutTest, LosesNothing) {
  const auto [strategy, resizing] = GetParam();
  TrainOptions o = quick(strategy);
  o.stop_at = 120;
  const Gaussians whole = train(o);
  LimitedBackend backend(std::size_t{1} << 30, resizing);
  Trainer trainer(backend, small_scene(), o);
  int failures = 0;
  std::size_t spare_bytes = 0;
  while (!trainer.done()) {
    backend.limit_bytes = backend.used_bytes() + spare_bytes;
    const int before = trainer.steps_done();
    try {
      trainer.step();
      spare_bytes = 0;  // the next step starts without spare memory again
    } catch (const OutOfMemory&) {
      ++failures;
      EXPECT_EQ(trainer.steps_done(), before);
      spare_bytes += 20'000;
    }
  }
  EXPECT_GT(failures, 20);
  EXPECT_TRUE(same_bits(whole, trainer.gaussians()));
}

// Whoever watches takes no memory from training: it neither fails nor releases anything else.
TEST_P(MemoryTest, TheFrameOfAWatcherIsReleasedFirst) {
  TrainOptions o = quick(GetParam());
  o.stop_at = 60;
  LimitedBackend backend(std::size_t{1} << 30);
  Trainer trainer(backend, small_scene(), o);
  View view{small_scene().views[0].camera, trainer.render_options()};
  view.camera = resized(view.camera, 640, 480);  // its frame takes more than any step does
  int released = 0;
  while (!trainer.done()) {
    if (trainer.steps_done() % 10 != 9) {  // the next step is not followed by a refinement
      trainer.step();
      continue;
    }
    trainer.render(view);
    const std::size_t with_frame = backend.used_bytes();
    backend.limit_bytes = with_frame;
    trainer.step();
    released += backend.used_bytes() < with_frame;
    backend.limit_bytes = std::size_t{1} << 30;
  }
  EXPECT_GT(released, 2);
  EXPECT_TRUE(same_bits(train(o), trainer.gaussians()));
}

TEST(Memory, ARunThatRanOutCanBeSavedAndResumed) {
  TestFolder folder;
  TrainOptions o = quick(Strategy::kAdc);
  o.stop_at = 200;
  LimitedBackend backend(std::size_t{1} << 30);
  Trainer trainer(backend, small_scene(), o);
  for (int i = 0; i < 60; ++i) trainer.step();
  backend.limit_bytes = backend.used_bytes() + 100'000;
  EXPECT_THROW(while (!trainer.done()) trainer.step(), OutOfMemory);
  trainer.save(folder / "checkpoint");

  auto cpu = make_backend("cpu");
  Trainer resumed(*cpu, small_scene(), o);
  resumed.restore(folder / "checkpoint");
  EXPECT_EQ(resumed.steps_done(), trainer.steps_done());
  EXPECT_TRUE(same_bits(trainer.gaussians(), resumed.gaussians()));
  EXPECT_EQ(resumed.dropped_count(), 0u);
}

// The advice after running out of memory is to resume with a lower limit, which the model must then keep to.
TEST_P(MemoryTest, ALowerLimitDropsTheLeastImportantGaussians) {
  TestFolder folder;
  TrainOptions o = quick(GetParam());
  o.stop_at = 100;
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, small_scene(), o);
  while (!trainer.done()) trainer.step();
  trainer.save(folder / "checkpoint");
  const std::size_t count = trainer.device_gaussians().size();
  const double before = trainer.evaluate(small_scene().test_views()).psnr;

  o.stop_at = 0;
  o.max_gaussians = count * 3 / 4;
  Trainer resumed(*backend, small_scene(), o);
  resumed.restore(folder / "checkpoint");
  EXPECT_EQ(resumed.device_gaussians().size(), o.max_gaussians);
  EXPECT_EQ(resumed.dropped_count(), count - o.max_gaussians);
  // Dropping a quarter of the Gaussians without regard to their importance costs up to 8 dB.
  EXPECT_GT(resumed.evaluate(small_scene().test_views()).psnr, before - 1);
  while (!resumed.done()) EXPECT_LE(resumed.step().gaussian_count, o.max_gaussians);
  resumed.save(folder / "smaller");
  Trainer again(*backend, small_scene(), o);
  again.restore(folder / "smaller");
  EXPECT_EQ(again.dropped_count(), 0u);
}

TEST(Memory, ACheckpointThatDoesNotFitLeavesTheTrainerUnchanged) {
  TestFolder folder;
  const TrainOptions o = quick(Strategy::kAdc);
  auto cpu = make_backend("cpu");
  Trainer trainer(*cpu, small_scene(), o);
  for (int i = 0; i < 100; ++i) trainer.step();
  trainer.save(folder / "checkpoint");
  LimitedBackend backend(std::size_t{1} << 30);
  Trainer other(backend, small_scene(), o);
  const Gaussians before = other.gaussians();
  backend.limit_bytes = backend.used_bytes() + 1000;
  EXPECT_THROW(other.restore(folder / "checkpoint"), OutOfMemory);
  EXPECT_TRUE(same_bits(before, other.gaussians()));
  EXPECT_EQ(other.steps_done(), 0);
}

}  // namespace
}  // namespace stipple
