// SPDX-License-Identifier: Apache-2.0
// Training over several ranks, which are threads here: the same model and the same checkpoint as in one
// process, byte for byte, however many ranks there are.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "stipple/core/error.h"
#include "stipple/ranks/collectives.h"
#include "tests/helpers/compare.h"
#include "tests/helpers/quick_training.h"
#include "tests/helpers/thread_ranks.h"

namespace stipple {
namespace {

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What a run leaves: its checkpoint and its model, and the scores of two photos.
struct Outcome {
  std::string checkpoint;
  Gaussians model;
  Evaluation evaluation;
  std::vector<float> losses;
  std::vector<std::size_t> counts;  // of Gaussians, after every step
  std::vector<std::size_t> parts;   // of Gaussians on each rank, at the end
};

class RankedRun {
 public:
  explicit RankedRun(const TrainOptions& options) : options_(options) {}

  // Trains from the start, or from a checkpoint, until this step.
  Outcome on(int rank_count, int until, const std::filesystem::path& from = {}) const {
    const TestFolder folder;
    const std::filesystem::path file = folder.path() / "checkpoint";
    Outcome outcome;
    run_as_ranks(rank_count, [&](Ranks& ranks) {
      auto backend = make_backend("cpu");
      Trainer trainer = from.empty() ? Trainer(*backend, small_scene(), options_, ranks)
                                     : Trainer::resumed(*backend, small_scene(), options_, from, ranks);
      while (trainer.steps_done() < std::min(until, trainer.last_step())) {
        const StepReport report = trainer.step();
        if (ranks.rank() != 0) continue;
        outcome.losses.push_back(report.loss);
        outcome.counts.push_back(report.gaussian_count);
      }
      trainer.save(file);
      const std::size_t views[] = {0, 3, 6};
      const Evaluation evaluation = trainer.evaluate(views);
      const std::vector<std::size_t> parts = gather_value(ranks, trainer.device_gaussians().size());
      Gaussians model = trainer.gaussians();
      EXPECT_EQ(model.size(), ranks.rank() == 0 ? trainer.gaussian_count() : 0);
      if (ranks.rank() != 0) return;
      outcome.model = std::move(model);
      outcome.evaluation = evaluation;
      outcome.parts = parts;
    });
    outcome.checkpoint = contents(file);
    return outcome;
  }

 private:
  TrainOptions options_;
};

void expect_same(const Outcome& a, const Outcome& b, int ranks) {
  EXPECT_TRUE(a.checkpoint == b.checkpoint) << ranks << " ranks";
  EXPECT_TRUE(same_bits(a.model, b.model)) << ranks << " ranks";
  EXPECT_EQ(a.losses, b.losses) << ranks << " ranks";
  EXPECT_EQ(a.counts, b.counts) << ranks << " ranks";
  EXPECT_EQ(a.evaluation.psnr, b.evaluation.psnr) << ranks << " ranks";
  EXPECT_EQ(a.evaluation.ssim, b.evaluation.ssim) << ranks << " ranks";
}

TrainOptions short_run(Strategy strategy, int batch) {
  TrainOptions o = quick(strategy);
  o.steps = 150;
  o.batch = batch;
  return o;
}

class ShardedTraining : public testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(, ShardedTraining, testing::Values(Strategy::kAdc, Strategy::kMcmc),
                         [](const auto& strategy) { return name_of(strategy.param); });

TEST_P(ShardedTraining, GivesTheBitsOfOneProcess) {
  const RankedRun run(short_run(GetParam(), 2));
  const Outcome alone = run.on(1, 150);
  EXPECT_GT(alone.counts.back(), alone.counts.front());  // or refinement would not have been tested
  for (const int ranks : {2, 3, 4}) expect_same(alone, run.on(ranks, 150), ranks);
}

// Everything that is off by default and touches the Gaussians: the 3D filter, random backgrounds, dropout, a
// loss on depths.
TEST_P(ShardedTraining, GivesTheBitsOfOneProcessWithEveryOption) {
  TrainOptions options = short_run(GetParam(), 1);
  options.render.antialiased = true;
  options.random_background = true;
  options.dropout = 0.2f;
  options.depth_weight = 0.1f;
  options.depth_every = 2;
  const RankedRun run(options);
  const Outcome alone = run.on(1, 100);
  for (const int ranks : {2, 3}) expect_same(alone, run.on(ranks, 100), ranks);
}

TEST_P(ShardedTraining, ResumesOnAnotherNumberOfRanks) {
  const TestFolder folder;
  const std::filesystem::path half = folder.path() / "half";
  const RankedRun run(short_run(GetParam(), 2));
  const Outcome whole = run.on(1, 110);
  for (const auto& [before, after] : {std::pair(3, 2), std::pair(1, 4), std::pair(2, 1)}) {
    const Outcome first = run.on(before, 60);
    std::ofstream(half, std::ios::binary) << first.checkpoint;
    const Outcome second = run.on(after, 110, half);
    EXPECT_TRUE(second.checkpoint == whole.checkpoint) << before << " ranks, then " << after;
    EXPECT_TRUE(same_bits(second.model, whole.model)) << before << " ranks, then " << after;
  }
}

TEST_P(ShardedTraining, DropsTheSameGaussiansOfACheckpointThatIsTooLarge) {
  const TestFolder folder;
  const std::filesystem::path file = folder.path() / "checkpoint";
  TrainOptions options = short_run(GetParam(), 2);
  std::ofstream(file, std::ios::binary) << RankedRun(options).on(1, 60).checkpoint;
  options.max_gaussians = 1111;
  const RankedRun smaller(options);
  const Outcome alone = smaller.on(1, 60, file);
  EXPECT_EQ(alone.model.size(), 1111u);
  for (const int ranks : {2, 3}) {
    const Outcome shared = smaller.on(ranks, 60, file);
    expect_same(alone, shared, ranks);
    const auto [least, most] = std::minmax_element(shared.parts.begin(), shared.parts.end());
    EXPECT_LE(*most - *least, 1u) << ranks << " ranks";
  }
}

// Fewer Gaussians than ranks, so that some have none.
TEST_P(ShardedTraining, ToleratesFewerGaussiansThanRanks) {
  const TestFolder folder;
  const std::filesystem::path file = folder.path() / "checkpoint";
  TrainOptions options = short_run(GetParam(), 2);
  std::ofstream(file, std::ios::binary) << RankedRun(options).on(1, 60).checkpoint;
  options.max_gaussians = 2;
  const RankedRun tiny(options);
  const Outcome alone = tiny.on(1, 90, file);
  for (const int ranks : {3, 4}) expect_same(alone, tiny.on(ranks, 90, file), ranks);
}

TEST(ShardedTrainingFiles, ADamagedCheckpointIsRefusedOnEveryRank) {
  const TestFolder folder;
  const std::filesystem::path file = folder.path() / "checkpoint";
  const TrainOptions options = short_run(Strategy::kMcmc, 2);
  std::string checkpoint = RankedRun(options).on(1, 20).checkpoint;
  for (const std::size_t at : {checkpoint.size() / 3, checkpoint.size() / 2, checkpoint.size() - 1}) {
    std::string damaged = checkpoint;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    std::ofstream(file, std::ios::binary) << damaged;
    int refused = 0;
    run_as_ranks(3, [&](Ranks& ranks) {
      auto backend = make_backend("cpu");
      try {
        Trainer::resumed(*backend, small_scene(), options, file, ranks);
      } catch (const DamagedCheckpoint& error) {
        EXPECT_NE(std::string(error.what()).find("damaged"), std::string::npos);
        if (ranks.rank() == 0) refused = 1;
      }
      EXPECT_EQ(is_true_on_any(ranks, false), false);  // all are still here
    });
    EXPECT_EQ(refused, 1) << at;
  }
}

// Where one rank cannot write its part, none is left waiting, and an earlier file stays.
TEST(ShardedTrainingFiles, AFileThatCannotBeWrittenEndsTheRunOnEveryRank) {
  const TestFolder folder;
  EXPECT_THROW(run_as_ranks(2,
                            [&](Ranks& ranks) {
                              auto backend = make_backend("cpu");
                              Trainer trainer(*backend, small_scene(), short_run(Strategy::kMcmc, 2), ranks);
                              trainer.step();
                              trainer.save(folder.path() / "no such folder" / "checkpoint");
                            }),
               Error);
}

}  // namespace
}  // namespace stipple
