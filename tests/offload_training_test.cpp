// SPDX-License-Identifier: Apache-2.0
// The trainer with harmonics in the host's memory.
#include <gtest/gtest.h>

#include "stipple/train/memory_plan.h"
#include "tests/helpers/limited_backend.h"
#include "tests/helpers/moments.h"
#include "tests/helpers/quick_training.h"
#include "tests/helpers/thread_ranks.h"

namespace stipple {
namespace {

// Enough for about 1000 Gaussians beside the frame buffers, or for twice as many with harmonics on the host;
// the scene has 1500 points.
constexpr std::size_t kLittleMemory = 1'400'000;

class OffloadBackend : public LimitedBackend {
 public:
  explicit OffloadBackend(std::size_t own_bytes, Resizing resizing = Resizing::kByCopy)
      : LimitedBackend(own_bytes, resizing) {
    may_use_host = true;
    // Arrays of whole pages may take more than the plan for so small a model.
    if (resizing == Resizing::kInPlace) limit_bytes += std::size_t{1} << 25;
  }
};

TrainOptions quick_until(int step, Strategy strategy = Strategy::kMcmc) {
  TrainOptions o = quick(strategy);
  o.stop_at = step;
  return o;
}

void finish(Trainer& trainer) {
  while (!trainer.done()) trainer.step();
}

class OffloadTest : public testing::TestWithParam<std::tuple<Strategy, Resizing>> {
 protected:
  Strategy strategy() const { return std::get<0>(GetParam()); }
  Resizing resizing() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(, OffloadTest,
                         testing::Combine(testing::Values(Strategy::kAdc, Strategy::kMcmc),
                                          testing::Values(Resizing::kByCopy, Resizing::kInPlace)),
                         [](const auto& params) {
                           const bool is_in_place = std::get<1>(params.param) == Resizing::kInPlace;
                           return name_of(std::get<0>(params.param)) + (is_in_place ? "_in_place" : "");
                         });

TEST_P(OffloadTest, MoreGaussiansFitThanWithoutIt) {
  TrainOptions o = quick_until(120, strategy());
  o.grow_gradient /= 4;
  std::size_t on_device_only = 0;
  for (const Offload offload : {Offload::kOff, Offload::kAuto}) {
    o.offload = offload;
    OffloadBackend backend(kLittleMemory, resizing());
    Trainer trainer(backend, small_scene(), o);
    finish(trainer);
    EXPECT_EQ(trainer.has_harmonics_on_host(), offload == Offload::kAuto);
    EXPECT_EQ(backend.host_peak_bytes() > 0, offload == Offload::kAuto);
    EXPECT_LE(trainer.gaussian_count(), trainer.memory_cap());
    EXPECT_LE(backend.peak_used_bytes(), backend.limit_bytes);
    if (offload == Offload::kOff)
      on_device_only = trainer.memory_cap();
    else
      EXPECT_GT(trainer.gaussian_count(), 5 * on_device_only / 4);
  }
}

// While the model fits, nothing lies on the host. The photos take no more memory than without offload.
TEST_P(OffloadTest, HarmonicsGoToTheHostWhenTheModelOutgrowsTheDevice) {
  TrainOptions o = quick_until(150, strategy());
  o.grow_gradient /= 4;
  o.max_gaussians = 3000;
  o.guard = GuardUse::kOff;
  OffloadBackend backend(2'200'000, resizing());  // for about 1800
  Trainer trainer(backend, small_scene(), o);
  EXPECT_FALSE(trainer.has_harmonics_on_host());
  EXPECT_EQ(backend.host_used_bytes(), 0u);
  std::size_t before = 0, after = 0;
  while (!trainer.done()) {
    const StepReport report = trainer.step();
    (trainer.has_harmonics_on_host() ? after : before) = report.gaussian_count;
    EXPECT_LE(before, 3000u);
  }
  EXPECT_GE(before, 1500u);
  EXPECT_GT(after, before);
  EXPECT_GE(backend.host_used_bytes(), after * harmonics_bytes(1));
}

TEST_P(OffloadTest, TheModelIsAsGoodAsWithoutIt) {
  const TrainOptions o = quick_until(120, strategy());
  OffloadBackend small(kLittleMemory, resizing());
  Trainer trainer(small, small_scene(), o);
  finish(trainer);
  EXPECT_TRUE(trainer.has_harmonics_on_host());
  auto cpu = make_backend("cpu");
  TrainOptions same_count = o;
  same_count.max_gaussians = trainer.memory_cap();
  Trainer whole(*cpu, small_scene(), same_count);
  finish(whole);
  const std::vector<std::size_t> views = small_scene().test_views();
  EXPECT_NEAR(trainer.evaluate(views).psnr, whole.evaluate(views).psnr, 0.5);
}

// Once harmonics have been on the host, the bits do not depend on where they are.
TEST_P(OffloadTest, ARunCanBeContinuedWithMoreOrLessMemory) {
  TestFolder folder;
  TrainOptions half = quick_until(60, strategy());
  half.max_gaussians = 1700;
  TrainOptions whole = half;
  whole.stop_at = 120;
  OffloadBackend backend(kLittleMemory, resizing());
  Trainer expected(backend, small_scene(), whole);
  finish(expected);
  {
    OffloadBackend first(kLittleMemory, resizing());
    Trainer trainer(first, small_scene(), half);
    finish(trainer);
    EXPECT_TRUE(trainer.has_harmonics_on_host());
    trainer.save(folder / "checkpoint");
  }
  const auto continue_on = [&](Backend& next, bool is_on_host) {
    Trainer trainer = Trainer::resumed(next, small_scene(), whole, folder / "checkpoint");
    EXPECT_EQ(trainer.has_harmonics_on_host(), is_on_host);
    EXPECT_EQ(trainer.dropped_count(), 0u);
    finish(trainer);
    EXPECT_TRUE(same_bits(expected.gaussians(), trainer.gaussians()));
  };
  OffloadBackend same(kLittleMemory, resizing()), more(std::size_t{1} << 28, resizing());
  continue_on(same, true);
  continue_on(more, false);
  continue_on(*make_backend("cpu"), false);
  // From a device with memory to one without.
  {
    auto cpu = make_backend("cpu");
    Trainer trainer(*cpu, small_scene(), half);
    finish(trainer);
    trainer.save(folder / "of_cpu");
  }
  OffloadBackend next(kLittleMemory, resizing());
  Trainer trainer = Trainer::resumed(next, small_scene(), whole, folder / "of_cpu");
  EXPECT_TRUE(trainer.has_harmonics_on_host());
  finish(trainer);
  EXPECT_LE(next.peak_used_bytes(), next.limit_bytes);
}

// The plan cannot know how much the views will show.
TEST_P(OffloadTest, RunningOutOfMemoryMovesHarmonicsToTheHost) {
  const TrainOptions o = quick_until(0, strategy());
  OffloadBackend backend(std::size_t{1} << 28, resizing());
  Trainer trainer(backend, small_scene(), o);
  for (int i = 0; i < 45; ++i) trainer.step();
  EXPECT_FALSE(trainer.has_harmonics_on_host());
  // Ever less memory, until it is too little even without photos.
  backend.limit_bytes = backend.peak_used_bytes();
  while (!trainer.has_harmonics_on_host() && !trainer.done()) {
    if (trainer.steps_done() % 10 == 5) backend.limit_bytes -= 50'000;
    trainer.step();
  }
  EXPECT_TRUE(trainer.has_harmonics_on_host());
  EXPECT_GE(backend.host_used_bytes(), trainer.gaussian_count() * harmonics_bytes(3));
  backend.limit_bytes += std::size_t{1} << 26;
  finish(trainer);
}

// If the host has no memory for them, the device's memory limits the model after all.
TEST_P(OffloadTest, WithoutMemoryOfTheHostTheModelStaysSmall) {
  TrainOptions o = quick_until(150, strategy());
  o.grow_gradient /= 4;
  o.max_gaussians = 3000;
  OffloadBackend backend(2'200'000, resizing());  // for about 1800
  backend.host_limit_bytes = 20'000;              // for one array of 1500 Gaussians
  Trainer trainer(backend, small_scene(), o);
  EXPECT_EQ(trainer.memory_cap(), 0u);
  finish(trainer);
  EXPECT_FALSE(trainer.has_harmonics_on_host());
  EXPECT_EQ(backend.host_used_bytes(), 0u);
  EXPECT_GT(trainer.memory_cap(), 1400u);
  EXPECT_LE(trainer.gaussian_count(), trainer.memory_cap());
}

// If it has none for a larger model, the run fails as without offload, and loses nothing.
TEST_P(OffloadTest, TheHostMayRunOutOfMemory) {
  TrainOptions o = quick_until(120, strategy());
  o.grow_gradient /= 4;
  OffloadBackend backend(kLittleMemory, resizing());
  Trainer whole(backend, small_scene(), o);
  finish(whole);
  OffloadBackend limited(kLittleMemory, resizing());
  Trainer trainer(limited, small_scene(), o);
  EXPECT_TRUE(trainer.has_harmonics_on_host());  // from the start
  int failures = 0;
  std::size_t spare_bytes = 0;
  while (!trainer.done()) {
    limited.host_limit_bytes = limited.host_used_bytes() + spare_bytes;
    const int before = trainer.steps_done();
    try {
      trainer.step();
      spare_bytes = 0;
    } catch (const OutOfMemory&) {
      ++failures;
      EXPECT_EQ(trainer.steps_done(), before);
      spare_bytes += 50'000;
    }
  }
  EXPECT_GT(failures, 3);
  EXPECT_TRUE(same_bits(whole.gaussians(), trainer.gaussians()));
}

// The memory of each rank's device with which all Gaussians just fit, if harmonics lie on the host.
std::size_t least_bytes(const TrainOptions& options, int rank_count) {
  for (std::size_t bytes = 500'000;; bytes += 50'000) {
    bool fits = false;
    try {
      run_as_ranks(rank_count, [&](Ranks& ranks) {
        OffloadBackend backend(bytes);
        const Trainer trainer(backend, small_scene(), options, ranks);
        if (ranks.rank() == 0) fits = trainer.memory_cap() == 0;
      });
    } catch (const OutOfMemory&) {
    }
    if (fits) return bytes;
  }
}

// All ranks decide together, and with the same Gaussians on their hosts they get the bits of one process.
TEST_P(OffloadTest, RanksPlaceTheirPartsOnTheirHostsTogether) {
  TrainOptions o = quick_until(70, strategy());
  o.batch = 2;
  o.max_gaussians = 1600;
  Gaussians expected;
  for (const int count : {1, 2, 3}) {
    const std::size_t bytes = least_bytes(o, count);
    for (const bool may_all_use_host : {true, false}) {
      SCOPED_TRACE(testing::Message() << count << " ranks" << (may_all_use_host ? "" : ", one without host"));
      Gaussians model;
      run_as_ranks(count, [&](Ranks& ranks) {
        OffloadBackend backend(bytes, resizing());
        backend.may_use_host = may_all_use_host || ranks.rank() + 1 < count;
        Trainer trainer(backend, small_scene(), o, ranks);
        EXPECT_EQ(trainer.has_harmonics_on_host(), may_all_use_host);
        EXPECT_EQ(trainer.memory_cap() == 0, may_all_use_host);
        while (!trainer.done()) trainer.step();
        EXPECT_EQ(trainer.has_harmonics_on_host(), may_all_use_host);
        Gaussians gathered = trainer.gaussians();
        if (ranks.rank() == 0) model = std::move(gathered);
      });
      if (count == 1 && may_all_use_host) expected = model;
      if (may_all_use_host)
        EXPECT_TRUE(same_bits(model, expected));
      else
        EXPECT_LT(model.size(), expected.size());
    }
  }
}

// The guard's copy of the best model returns to where the present one would lie.
TEST(Offload, TheGuardGoesBackToAModelOnTheHost) {
  TrainOptions o = quick_until(0);
  o.steps = 600;
  OffloadBackend backend(kLittleMemory);
  Trainer trainer(backend, small_scene(), o);
  finish(trainer);
  EXPECT_TRUE(trainer.has_harmonics_on_host());
  EXPECT_LE(backend.peak_used_bytes(), backend.limit_bytes);
}

TEST(Offload, ABackendOfTheHostHasNoUseForIt) {
  auto cpu = make_backend("cpu");
  EXPECT_FALSE(cpu->reaches_host());
  EXPECT_THROW(cpu->allocate_on_host(1), OutOfMemory);
  Trainer trainer(*cpu, small_scene(), quick_until(20));
  finish(trainer);
  EXPECT_FALSE(trainer.has_harmonics_on_host());
}

}  // namespace
}  // namespace stipple
