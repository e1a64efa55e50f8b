// SPDX-License-Identifier: Apache-2.0
// Lets one operation of a short run fail, for every operation in turn: an allocation on the host, and an
// allocation, a copy or a stage on the device. After each failure, the state is saved as the command does it,
// and a run that is resumed from what has been saved ends with the bits of an undisturbed run.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/faults/failing_allocations.h"
#include "tests/faults/failing_backend.h"
#include "tests/helpers/quick_training.h"

namespace stipple {
namespace {

constexpr int kSteps = 12, kSaveEvery = 5;

const Scene& tiny_scene() {
  static const TestFolder folder;
  static const Scene scene =
      make_synth_scene(folder.path(), {.view_count = 8, .width_px = 20, .height_px = 15, .seed = 1}, 60);
  return scene;
}

// Options with which everything happens within kSteps steps.
TrainOptions options_of(Strategy strategy) {
  TrainOptions o = quick(strategy);
  o.steps = 60;
  o.stop_at = kSteps;
  o.max_gaussians = 90;
  o.hold_out = true;
  return o;
}

// A run as the command makes it: with evaluations, checkpoints, and a last attempt to save when something
// fails.
class ShortRun {
 public:
  ShortRun(const TrainOptions& options, const TestFolder& folder, std::size_t own_bytes = 0)
      : options_(options), folder_(folder), own_bytes_(own_bytes) {}

  // Returns what failed; empty if nothing did. `disarm` is called before the last attempt to save.
  std::string train(Backend& backend, const std::function<void()>& disarm) {
    std::optional<Trainer> trainer;
    try {
      trainer.emplace(backend, tiny_scene(), options_);
      while (!trainer->done()) {
        const StepReport report = trainer->step([&](const StepReport& r) {
          if (r.step % kSaveEvery == 2) trainer->evaluate(tiny_scene().test_views());
        });
        if (report.step % kSaveEvery == 0) trainer->save(folder_ / "checkpoint");
      }
      trainer->save(folder_ / "checkpoint");
      return "";
    } catch (const std::exception& error) {
      disarm();
      try {
        if (trainer) trainer->save(folder_ / "checkpoint");
      } catch (
          const std::exception&) {  // the state is torn, or gone with the device: the last checkpoint remains
      }
      return error.what();
    }
  }

  Gaussians resume() {
    FailingBackend backend(DeviceFault::kError, 0, own_bytes_);
    Trainer trainer(backend, tiny_scene(), options_);
    if (std::filesystem::exists(folder_ / "checkpoint")) trainer.restore(folder_ / "checkpoint");
    resumed_from = trainer.steps_done();
    while (!trainer.done()) trainer.step();
    return trainer.gaussians();
  }

  int resumed_from = 0;

 private:
  TrainOptions options_;
  const TestFolder& folder_;
  std::size_t own_bytes_;
};

Gaussians undisturbed(const TrainOptions& options, std::size_t own_bytes = 0) {
  FailingBackend backend(DeviceFault::kError, 0, own_bytes);
  Trainer trainer(backend, tiny_scene(), options);
  while (!trainer.done()) trainer.step();
  return trainer.gaussians();
}

class FaultTest : public testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(, FaultTest, testing::Values(Strategy::kAdc, Strategy::kMcmc),
                         [](const auto& strategy) { return name_of(strategy.param); });

// The least memory of a device on which a run has as many Gaussians as it may. Their harmonics lie on the
// host once they are so many.
std::size_t bytes_for_harmonics_on_host(const TrainOptions& options) {
  for (std::size_t bytes = 10'000;; bytes += 1'000) try {
      FailingBackend backend(DeviceFault::kError, 0, bytes);
      Trainer trainer(backend, tiny_scene(), options);
      if (trainer.memory_cap() > 0) continue;
      EXPECT_FALSE(trainer.has_harmonics_on_host());
      while (!trainer.done()) trainer.step();
      EXPECT_TRUE(trainer.has_harmonics_on_host());
      return bytes;
    } catch (const OutOfMemory&) {
    }
}

void expect_recovery_from_every(DeviceFault fault, Strategy strategy, Place harmonics = Place::kDevice) {
  const TrainOptions options = options_of(strategy);
  const std::size_t own_bytes = harmonics == Place::kHost ? bytes_for_harmonics_on_host(options) : 0;
  const Gaussians whole = undisturbed(options, own_bytes);
  std::size_t operation_count = 0, failures = 0;
  for (std::size_t which = 0; which <= operation_count; ++which) {
    const TestFolder folder;
    ShortRun run(options, folder, own_bytes);
    FailingBackend backend(fault, which, own_bytes);
    const std::string failed = run.train(backend, [&] {
      if (fault != DeviceFault::kLost) backend.stop_failing();
    });
    if (which == 0) operation_count = backend.operation_count();
    failures += !failed.empty();
    if (harmonics == Place::kHost && fault == DeviceFault::kOutOfMemory) {
      // A lack of memory may have moved the harmonics earlier, or have kept the model small.
      const std::size_t size = run.resume().size();
      ASSERT_TRUE(size > whole.size() / 2 && size <= whole.size()) << "operation " << which << ": " << failed;
      continue;
    }
    ASSERT_TRUE(same_bits(whole, run.resume()))
        << "operation " << which << ": " << failed << "; resumed from step " << run.resumed_from;
  }
  std::cout << operation_count << " operations\n";
  EXPECT_GT(operation_count, 90u);
  // A lack of memory can be made up for by releasing what is cached.
  if (fault != DeviceFault::kOutOfMemory) {
    EXPECT_EQ(failures, operation_count);
  }
}

TEST_P(FaultTest, EveryAllocationOnTheDevice) {
  expect_recovery_from_every(DeviceFault::kOutOfMemory, GetParam());
}
TEST_P(FaultTest, EveryOperationOfTheDevice) { expect_recovery_from_every(DeviceFault::kError, GetParam()); }
TEST_P(FaultTest, TheLossOfTheDeviceAtEveryOperation) {
  expect_recovery_from_every(DeviceFault::kLost, GetParam());
}

// With adc, the model does not grow within so few steps.
TEST(HostFaultTest, EveryAllocationWithHarmonicsOnTheHost) {
  expect_recovery_from_every(DeviceFault::kOutOfMemory, Strategy::kMcmc, Place::kHost);
}
TEST(HostFaultTest, EveryOperationWithHarmonicsOnTheHost) {
  expect_recovery_from_every(DeviceFault::kError, Strategy::kMcmc, Place::kHost);
}

// Its arrays may differ in length, so that rendering them would read beyond their ends.
TEST_P(FaultTest, ATornModelIsNotShown) {
  std::size_t which = 0;
  const auto is_torn = [&](const Trainer& trainer) {
    try {
      trainer.gaussians();
      return false;
    } catch (const Error&) {
      return true;
    }
  };
  for (bool was_torn = false; !was_torn;) {
    FailingBackend backend(DeviceFault::kError, 0);
    Trainer trainer(backend, tiny_scene(), options_of(GetParam()));
    backend.fail_at(++which);
    ASSERT_THROW(while (!trainer.done()) trainer.step(), Error) << "no operation tears the model";
    was_torn = is_torn(trainer);
    if (!was_torn) continue;
    EXPECT_THROW(trainer.evaluate(tiny_scene().test_views()), Error);
    EXPECT_THROW(trainer.with_model([](const DeviceGaussians&) {}), Error);
    EXPECT_THROW(trainer.step(), Error);
  }
}

TEST_P(FaultTest, EveryAllocationOnTheHost) {
  const TrainOptions options = options_of(GetParam());
  const Gaussians whole = undisturbed(options);
  std::size_t allocation_count = 0, failures = 0;
  for (std::size_t which = 0; which <= allocation_count; ++which) {
    const TestFolder folder;
    ShortRun run(options, folder);
    auto backend = make_backend("cpu");
    std::string failed;
    {
      std::optional<FailingAllocation> faults(which);
      failed = run.train(*backend, [&] { faults.reset(); });
      if (which == 0) allocation_count = faults->count();
    }
    failures += !failed.empty();
    ASSERT_TRUE(same_bits(whole, run.resume()))
        << "allocation " << which << ": " << failed << "; resumed from step " << run.resumed_from;
  }
  std::cout << allocation_count << " allocations\n";
  EXPECT_GT(allocation_count, 100u);
  EXPECT_GT(failures, allocation_count / 2);  // threads may take more or fewer from run to run
}

}  // namespace
}  // namespace stipple
