// SPDX-License-Identifier: Apache-2.0
// Runs that start from a model instead of the points of their scene.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stipple/core/parallel.h"
#include "stipple/edit/sh_degree.h"
#include "stipple/model/model_file.h"
#include "stipple/train/filtered_model.h"
#include "tests/helpers/all_views.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/limited_backend.h"
#include "tests/helpers/quick_training.h"

namespace stipple {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TrainOptions short_run(Strategy strategy = Strategy::kMcmc, bool antialiased = false) {
  TrainOptions o = quick(strategy);
  o.steps = 200;
  o.reset_every = 0;
  o.prune_scale = 0;  // of the trained model, it would remove the walls
  o.render.antialiased = antialiased;
  return o;
}

struct Trained {
  Gaussians model;
  double psnr = 0;
};

Trained run(Trainer trainer) {
  while (!trainer.done()) trainer.step();
  return {trainer.gaussians(), trainer.evaluate(all_views(small_scene())).psnr};
}

// A model of small_scene(), trained once.
const Trained& trained(bool antialiased = false) {
  static const auto train_one = [](bool is_antialiased) {
    const auto backend = make_backend("cpu");
    return run(Trainer(*backend, small_scene(), short_run(Strategy::kMcmc, is_antialiased)));
  };
  static const Trained models[] = {train_one(false), train_one(true)};
  return models[antialiased ? 1 : 0];
}

class StartTest : public testing::TestWithParam<std::tuple<Strategy, bool>> {};
INSTANTIATE_TEST_SUITE_P(, StartTest,
                         testing::Combine(testing::Values(Strategy::kAdc, Strategy::kMcmc), testing::Bool()),
                         [](const auto& run) {
                           return name_of(std::get<0>(run.param)) +
                                  (std::get<1>(run.param) ? "_antialiased" : "");
                         });

// In a file, the filter of an antialiased run is a part of the model.
TEST_P(StartTest, ARunBeginsAtThePsnrOfItsModelAndRaisesIt) {
  const auto [strategy, antialiased] = GetParam();
  const TestFolder folder;
  const Trained& from = trained(antialiased);
  save_model(from.model, folder / "model.ply");
  const auto backend = make_backend("cpu");
  Trainer trainer(*backend, small_scene(), short_run(strategy, antialiased),
                  load_model(folder / "model.ply"));
  EXPECT_EQ(trainer.dropped_count(), 0u);
  EXPECT_EQ(trainer.gaussians().sh_degree, from.model.sh_degree);
  EXPECT_NEAR(trainer.evaluate(all_views(small_scene())).psnr, from.psnr, 0.01);
  for (int i = 0; i < 10; ++i) trainer.step();
  EXPECT_GT(trainer.evaluate(all_views(small_scene())).psnr, from.psnr - 0.3);
  EXPECT_GT(run(std::move(trainer)).psnr, from.psnr + 0.5);
}

TEST(Start, HarmonicsAreLoweredAtOnceAndRaisedWhenTheirTimeComes) {
  const auto backend = make_backend("cpu");
  Gaussians model = trained().model;
  ASSERT_EQ(model.sh_degree, 3);
  TrainOptions o = short_run();
  o.sh_degree = 1;
  Trainer lowered(*backend, small_scene(), o, model);
  EXPECT_EQ(lowered.gaussians().sh_degree, 1);
  EXPECT_EQ(run(std::move(lowered)).model.sh_degree, 1);

  set_sh_degree(model, 0);
  const TestFolder folder;
  save_model(model, folder / "grey.ply");
  Trainer raised(*backend, small_scene(), short_run(), load_model(folder / "grey.ply"));
  EXPECT_TRUE(same_bits(raised.gaussians(), model));
  const double before = raised.evaluate(all_views(small_scene())).psnr;
  const Trained after = run(std::move(raised));
  EXPECT_EQ(after.model.sh_degree, 3);
  EXPECT_GT(after.psnr, before + 0.5);
}

TEST(Start, TheSameModelAndSeedGiveTheSameBitsForAnyNumberOfThreads) {
  TrainOptions o = short_run();
  o.stop_at = 60;
  const auto backend = make_backend("cpu");
  Gaussians one, two;
  with_threads(1, [&] { one = run(Trainer(*backend, small_scene(), o, trained().model)).model; });
  with_threads(2, [&] { two = run(Trainer(*backend, small_scene(), o, trained().model)).model; });
  EXPECT_TRUE(same_bits(one, two));
}

TEST(Start, WhatCannotBeTrainedIsLeftOut) {
  const auto backend = make_backend("cpu");
  Gaussians model = trained().model;
  const std::size_t count = model.size();
  model.mean[3].y = kNan;
  model.sh[model.sh.size() - 1].z = -std::numeric_limits<float>::infinity();
  model.log_scale[7].x = 100;                                       // overflows
  model.logit_opacity[8] = std::numeric_limits<float>::infinity();  // opaque, as some formats store it
  Trainer trainer(*backend, small_scene(), short_run(), model);
  EXPECT_EQ(trainer.dropped_count(), 3u);
  const Gaussians first = trainer.gaussians();
  ASSERT_EQ(first.size(), count - 3);
  EXPECT_EQ(first.mean[3], model.mean[4]);
  EXPECT_NEAR(Math<float>::sigmoid(first.logit_opacity[6]), 1, 1e-3f);
  EXPECT_FALSE(trainer.step().was_skipped);
}

TEST(Start, AModelThatIsTooLargeLosesItsLeastImportantGaussians) {
  Gaussians model = trained().model;
  const std::size_t count = model.size();
  for (std::size_t i = 0; i < count; i += 2) model.logit_opacity[i] = -10;
  TrainOptions o = short_run();
  o.max_gaussians = count / 4;
  const auto backend = make_backend("cpu");
  Trainer trainer(*backend, small_scene(), o, model);
  EXPECT_EQ(trainer.dropped_count(), count - count / 4);
  for (const float logit : trainer.gaussians().logit_opacity) ASSERT_GT(logit, -10);

  o.max_gaussians = 0;
  LimitedBackend small(2'000'000);  // enough for about 1000 Gaussians
  Trainer limited(small, small_scene(), o, model);
  EXPECT_GT(limited.memory_cap(), 0u);
  EXPECT_EQ(limited.gaussians().size(), limited.memory_cap());
  EXPECT_EQ(limited.dropped_count(), count - limited.memory_cap());
}

TEST(Start, RefusesModelsThatNoPhotoShows) {
  const auto backend = make_backend("cpu");
  const auto error_with = [&](const Gaussians& model) {
    return error_of([&] { Trainer(*backend, small_scene(), short_run(), model); });
  };
  EXPECT_EQ(error_with({}), "the model to start from has no Gaussians");
  Gaussians model = trained().model;
  for (const Vec3f away : {Vec3f(0, 0, -1e5f), Vec3f(0, 1e5f, 0), Vec3f(0, 0, 1e5f)}) {
    model.mean = trained().model.mean;
    for (Vec3f& mean : model.mean) mean = mean + away;
    EXPECT_EQ(
        error_with(model),
        "no photo shows any Gaussian of the model to start from; it must be in the frame of the scene, as a "
        "model that was trained from it is");
  }
  for (Vec3f& mean : model.mean) mean.x = kNan;
  EXPECT_EQ(error_with(model), "the model to start from has no Gaussian whose values are all finite");
}

TEST(Start, NeedsNoPoints) {
  Scene scene = small_scene();
  scene.points = {};
  const auto backend = make_backend("cpu");
  EXPECT_EQ(error_of([&] { Trainer(*backend, scene, short_run()); }),
            "the scene has no points to start from");
  Trainer trainer(*backend, scene, short_run(), trained().model);
  EXPECT_FALSE(trainer.step().was_skipped);
}

// The checkpoint says what a run started from.
TEST(Start, ARunIsResumedToTheSameBitsWithoutItsModel) {
  TrainOptions o = short_run();
  o.stop_at = 80;
  const auto backend = make_backend("cpu");
  const Gaussians& model = trained().model;
  const Gaussians whole = run(Trainer(*backend, small_scene(), o, model)).model;
  const TestFolder folder;
  Trainer first(*backend, small_scene(), o, model);
  for (int i = 0; i < 37; ++i) first.step();
  first.save(folder / "first");
  Trainer second = Trainer::resumed(*backend, small_scene(), o, folder / "first");
  EXPECT_EQ(second.steps_done(), 37);
  second.step();
  second.save(folder / "second");
  EXPECT_TRUE(same_bits(run(std::move(second)).model, whole));
  Trainer third(*backend, small_scene(), o, model);
  third.restore(folder / "second");
  EXPECT_EQ(third.steps_done(), 38);
  EXPECT_TRUE(same_bits(run(std::move(third)).model, whole));
}

TEST(Start, ACheckpointIsRestoredByRunsWithTheSameStartOnly) {
  const TrainOptions o = short_run();
  const auto backend = make_backend("cpu");
  const TestFolder folder;
  Trainer from_points(*backend, small_scene(), o), from_model(*backend, small_scene(), o, trained().model);
  Gaussians model = trained().model;
  model.sh[0].x += 1;
  Trainer from_another(*backend, small_scene(), o, model);
  from_points.save(folder / "points");
  from_model.save(folder / "model");
  const auto error_with = [&](Trainer& trainer, const char* name) {
    const std::string message = error_of([&] { trainer.restore(folder / name); });
    return message.substr(std::min(message.size(), (folder / name).string().size() + 2));
  };
  const std::string begin = "the checkpoint is from a run that started from ";
  EXPECT_EQ(error_with(from_points, "model"), begin + "a model, but this run starts from the scene's points");
  EXPECT_EQ(error_with(from_model, "points"), begin + "the scene's points, but this run starts from a model");
  EXPECT_EQ(error_with(from_another, "model"), begin + "another model, but this run starts from a model");
  EXPECT_EQ(error_with(from_model, "model"), "");
  EXPECT_EQ(error_with(from_points, "points"), "");
}

TEST(RemoveFilter, IsTheReverseOfAFilter) {
  const Gaussians original = random_cloud(1000, 0, 5, {.log_scale = -4});
  const std::vector<float> variance = random_filter(original.size(), -4, 6);
  Gaussians seen = original;
  apply_filter(variance, 1.3f, seen.log_scale, seen.logit_opacity);
  Gaussians bare = seen;
  remove_filter(variance, 1.3f, bare.log_scale, bare.logit_opacity);
  apply_filter(variance, 1.3f, bare.log_scale, bare.logit_opacity);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (int k = 0; k < 3; ++k) {
      ASSERT_GE(bare.log_scale[i][k], seen.log_scale[i][k] - 1e-5f) << i;
      ASSERT_NEAR(bare.log_scale[i][k], seen.log_scale[i][k], 0.04f) << i;
    }
    ASSERT_NEAR(Math<float>::sigmoid(bare.logit_opacity[i]), Math<float>::sigmoid(seen.logit_opacity[i]),
                1e-4f)
        << i;
  }
}

// No filter has made it: it is thinner than the filter. It stays as opaque as can be.
TEST(RemoveFilter, KeepsFlatGaussiansOpaqueAndFinite) {
  const std::vector<float> variance = {0.01f, 0.01f, 0.01f, 0};
  std::vector<Vec3f> log_scale = {{-1, -1, -12}, {-9, -9, -9}, {-1, -1, -2000}, {-3, -3, -3}};
  const std::vector<Vec3f> given = log_scale;
  std::vector<float> logit = {2, 2, -2000, 1};
  remove_filter(variance, 1, log_scale, logit);
  EXPECT_EQ(log_scale[3], given[3]);
  EXPECT_EQ(logit[3], 1);
  apply_filter(variance, 1, log_scale, logit);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::isfinite(log_scale[static_cast<std::size_t>(i)].z)) << i;
    EXPECT_TRUE(std::isfinite(logit[static_cast<std::size_t>(i)])) << i;
  }
  EXPECT_GT(Math<float>::sigmoid(logit[0]), 0.6f);
  EXPECT_LT(std::exp(log_scale[0].z), 0.15f);
}

}  // namespace
}  // namespace stipple
