// SPDX-License-Identifier: Apache-2.0
// Lets one operation of the device fail, for every operation in turn, in a step in which the guard keeps a
// copy of the model or goes back to it. Such a step comes late in a run, so each attempt starts from a
// checkpoint of the step before it.
#include <gtest/gtest.h>

#include "tests/faults/failing_allocations.h"
#include "tests/faults/failing_backend.h"
#include "tests/helpers/quick_training.h"

namespace stipple {
namespace {

constexpr int kFirstCheck = 100, kSecondCheck = 200;  // the guard judges every 100 steps of a short run

const Scene& scene_to_watch() {  // with enough photos for the guard to watch some
  static const TestFolder folder;
  static const Scene scene =
      make_synth_scene(folder.path(), {.view_count = 27, .width_px = 20, .height_px = 15, .seed = 1}, 60);
  return scene;
}

// Without refinements, only the update and the guard change the model.
TrainOptions options_without_refinement() {
  TrainOptions o = quick(Strategy::kMcmc);
  o.refine_until = 0;
  o.sh_degree = 0;
  o.dropout = 0.1f;  // with it, the guard renders photos to judge the model
  return o;
}

void train_until(Trainer& trainer, int step) {
  while (trainer.steps_done() < step) trainer.step();
}

// Trains from one checkpoint, or from the start, to the step of the next.
void prepare(const TrainOptions& options, const std::filesystem::path& from, int step,
             const std::filesystem::path& to) {
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, scene_to_watch(), options);
  if (!from.empty()) trainer.restore(from);
  train_until(trainer, step);
  trainer.save(to);
}

struct Outcome {
  int failures = 0, saved = 0;      // failures, and those after which the state could be saved
  std::optional<GuardEvent> event;  // of the step, without a failure
};

// Trains the step after the checkpoint `before`. Whatever fails, the run ends with the bits of an undisturbed
// one: from the state after the failure or, if that is lost, from `before`.
Outcome fail_every_operation(DeviceFault fault, const TrainOptions& options, const TestFolder& folder) {
  const std::filesystem::path before = folder / "before", after = folder / "after";
  Outcome outcome;
  Gaussians whole;
  std::size_t operation_count = 0;
  for (std::size_t which = 0; which <= operation_count; ++which) {
    FailingBackend backend(fault, 0);
    Trainer trainer(backend, scene_to_watch(), options);
    trainer.restore(before);
    const int step = trainer.steps_done() + 1;
    std::filesystem::copy_file(before, after, std::filesystem::copy_options::overwrite_existing);
    backend.fail_at(which);
    try {
      const StepReport report = trainer.step();
      if (which == 0) outcome.event = report.guard;
    } catch (const Error&) {
      ++outcome.failures;
    }
    if (which == 0) operation_count = backend.operation_count();
    backend.stop_failing();
    try {
      trainer.save(after);
      outcome.saved += which > 0;
    } catch (const Error&) {
    }
    auto resumed = make_backend("cpu");
    Trainer again(*resumed, scene_to_watch(), options);
    again.restore(after);
    train_until(again, step + 2);
    if (which == 0) whole = again.gaussians();
    EXPECT_TRUE(same_bits(whole, again.gaussians())) << "operation " << which;
  }
  EXPECT_GT(operation_count, 50u);
  outcome.saved -= static_cast<int>(operation_count) - outcome.failures;  // attempts that did not fail
  return outcome;
}

// Keeps the model, and gives the watched photos back, in one step.
TrainOptions prepare_to_keep(const TestFolder& folder) {
  TrainOptions options = options_without_refinement();
  options.steps = kFirstCheck * 5 / 4;
  prepare(options, {}, kFirstCheck - 1, folder / "before");
  return options;
}

// A model that far too high learning rates have ruined since it was kept.
TrainOptions prepare_to_go_back(const TestFolder& folder) {
  TrainOptions options = options_without_refinement();
  options.steps = 1000;
  prepare(options, {}, kFirstCheck, folder / "kept");
  TrainOptions ruinous = options;
  ruinous.sh_base_rate = 10;
  prepare(ruinous, folder / "kept", kSecondCheck - 1, folder / "before");
  return options;
}

TEST(GuardFaultTest, EveryAllocationWhenTheModelIsKept) {
  const TestFolder folder;
  const TrainOptions options = prepare_to_keep(folder);
  const Outcome outcome = fail_every_operation(DeviceFault::kOutOfMemory, options, folder);
  EXPECT_GT(outcome.failures, 0);
  EXPECT_EQ(outcome.saved, outcome.failures);
}

TEST(GuardFaultTest, EveryOperationWhenTheModelIsKept) {
  const TestFolder folder;
  const TrainOptions options = prepare_to_keep(folder);
  const Outcome outcome = fail_every_operation(DeviceFault::kError, options, folder);
  EXPECT_GT(outcome.saved, outcome.failures / 2);
}

// The copy is in the host's memory; without room for it, the run goes on.
TEST(GuardFaultTest, EveryAllocationOnTheHostWhenTheModelIsKept) {
  const TestFolder folder;
  const TrainOptions options = prepare_to_keep(folder);
  const std::filesystem::path before = folder / "before", after = folder / "after";
  Gaussians whole;
  std::size_t allocation_count = 0, survived = 0;
  for (std::size_t which = 0; which <= allocation_count; ++which) {
    auto backend = make_backend("cpu");
    Trainer trainer(*backend, scene_to_watch(), options);
    trainer.restore(before);
    const int step = trainer.steps_done() + 1;
    std::filesystem::copy_file(before, after, std::filesystem::copy_options::overwrite_existing);
    {
      const FailingAllocation faults(which);
      try {
        trainer.step();
        ++survived;
      } catch (const std::exception&) {
      }
      if (which == 0) allocation_count = faults.count();
    }
    try {
      trainer.save(after);
    } catch (const Error&) {  // the failure tore the model
    }
    Trainer again(*backend, scene_to_watch(), options);
    again.restore(after);
    train_until(again, step + 2);
    if (which == 0) whole = again.gaussians();
    ASSERT_TRUE(same_bits(whole, again.gaussians())) << "allocation " << which;
  }
  EXPECT_GT(allocation_count, 50u);
  EXPECT_GT(survived, 3u);  // the parameters of the copy
}

TEST(GuardFaultTest, EveryOperationWhenTheGuardGoesBack) {
  const TestFolder folder;
  const TrainOptions options = prepare_to_go_back(folder);
  const Outcome outcome = fail_every_operation(DeviceFault::kError, options, folder);
  ASSERT_TRUE(outcome.event);
  EXPECT_EQ(outcome.event->kind, GuardEvent::Kind::kRecovered);
  EXPECT_GT(outcome.saved, 0);
  EXPECT_LT(outcome.saved, outcome.failures);
}

}  // namespace
}  // namespace stipple
