// SPDX-License-Identifier: Apache-2.0
// The trainer as a whole, on small photos of the built-in scene.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>
#include <thread>

#include "stipple/backend/render.h"
#include "stipple/core/parallel.h"
#include "stipple/edit/sh_degree.h"
#include "stipple/photo/load_photo.h"
#include "stipple/train/schedule.h"
#include "stipple/train/trainer.h"
#include "tests/helpers/all_views.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/faulty_backend.h"
#include "tests/helpers/object_scene.h"
#include "tests/helpers/quick_training.h"

namespace stipple {
namespace {

// The model grows in every refinement.
TrainOptions growing() {
  TrainOptions o = quick(Strategy::kMcmc);
  o.grow_gradient = 0;
  o.growth = 1.05f;
  return o;
}

class TrainingTest : public testing::TestWithParam<std::tuple<std::string, Strategy>> {
 protected:
  void SetUp() override { STIPPLE_SKIP_UNUSABLE(backend_name()); }
  static std::string backend_name() { return std::get<0>(GetParam()); }
  static Strategy strategy() { return std::get<1>(GetParam()); }
};

std::string run_name(const testing::TestParamInfo<TrainingTest::ParamType>& run) {
  return std::get<0>(run.param) + "_" + name_of(std::get<1>(run.param));
}

TEST_P(TrainingTest, RaisesThePsnrAndAddsGaussians) {
  auto backend = make_test_backend(backend_name());
  Trainer trainer(*backend, small_scene(), quick(strategy()));
  double early = 0, late = 0;
  std::size_t count = 0;
  while (!trainer.done()) {
    const StepReport r = trainer.step();
    if (r.step <= 20) early += r.psnr / 20;
    if (r.step > 280) late += r.psnr / 20;
    count = r.gaussian_count;
    EXPECT_LE(r.gaussian_count, 3000u);
  }
  EXPECT_GT(late, early + 4);
  EXPECT_GT(count, 1500u);
  EXPECT_EQ(trainer.gaussians().sh_degree, 3);
}

// Over random backgrounds, nothing but the object can stay opaque.
TEST_P(TrainingTest, LearnsTheAlphaOfAnObject) {
  TestFolder folder;
  save_object_scene(folder, 12, 48);
  const Scene scene = load_scene(folder.path(), {.random_point_count = 1500});
  TrainOptions o = quick(strategy());
  o.reset_every = 0;
  o.random_background = true;
  o.render.background = {1, 1, 1};
  auto backend = make_test_backend(backend_name());
  Trainer trainer(*backend, scene, o);
  while (!trainer.done()) trainer.step();
  EXPECT_GT(trainer.evaluate(std::vector<std::size_t>{0, 5}).psnr, 21);
  const Camera& camera = scene.views[5].camera;
  const Image alpha = render(*backend, trainer.device_gaussians(), {camera, o.render}).alpha;
  const std::vector<std::uint8_t> expected = load_photo(scene.views[5]).alpha;
  double difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    difference += std::abs(alpha.values[i] - static_cast<float>(expected[i]) / 255) /
                  static_cast<double>(expected.size());
  EXPECT_LT(difference, 0.04);
}

TEST_P(TrainingTest, TheSameSeedGivesTheSameBitsForAnyNumberOfThreads) {
  STIPPLE_SKIP_UNORDERED(backend_name());
  TrainOptions o = quick(strategy());
  o.stop_at = 120;
  o.random_background = true;
  Gaussians one, two;
  with_threads(1, [&] { one = train(o, backend_name()); });
  with_threads(2, [&] { two = train(o, backend_name()); });
  EXPECT_TRUE(same_bits(one, two));
  o.seed = 2;
  EXPECT_FALSE(same_bits(one, train(o, backend_name())));
}

TEST_P(TrainingTest, ResumingGivesTheSameBits) {
  STIPPLE_SKIP_UNORDERED(backend_name());
  TrainOptions o = quick(strategy());
  o.stop_at = 160;
  o.random_background = true;
  const Gaussians whole = train(o, backend_name());
  TestFolder folder;
  auto backend = make_test_backend(backend_name());
  {
    Trainer first(*backend, small_scene(), o);
    for (int i = 0; i < 77; ++i) first.step();
    first.save(folder / "checkpoint");
  }
  Trainer second(*backend, small_scene(), o);
  second.restore(folder / "checkpoint");
  EXPECT_EQ(second.steps_done(), 77);
  while (!second.done()) second.step();
  EXPECT_TRUE(same_bits(whole, second.gaussians()));
}

TEST_P(TrainingTest, BatchesLearnAndResumeToTheSameBits) {
  TrainOptions o = quick(strategy());
  o.steps = 100;
  o.batch = 3;
  o.refine_every = 30;
  o.dropout = 0;  // which lowers the PSNR of the steps themselves
  auto backend = make_test_backend(backend_name());
  TestFolder folder;
  Trainer trainer(*backend, small_scene(), o);
  double early = 0, late = 0;
  while (!trainer.done()) {
    const StepReport r = trainer.step();
    if (r.step <= 10) early += r.psnr / 10;
    if (r.step > 90) late += r.psnr / 10;
    if (r.step == 41) trainer.save(folder / "checkpoint");
  }
  EXPECT_GT(late, early + 4);
  Trainer second(*backend, small_scene(), o);
  second.restore(folder / "checkpoint");
  TrainOptions other = o;
  other.batch = 1;
  Trainer different(*backend, small_scene(), other);
  EXPECT_NE(error_of([&] {
              different.restore(folder / "checkpoint");
            }).find("with batch 3, but this run has batch 1"),
            std::string::npos);
  STIPPLE_SKIP_UNORDERED(backend_name());
  while (!second.done()) second.step();
  EXPECT_TRUE(same_bits(trainer.gaussians(), second.gaussians()));
}

// A viewer's thread renders the model all the time, with its own pass on the same backend, and training ends
// with the same bits. Every image shows the model between two steps, so its number of Gaussians is one that a
// step reported.
TEST_P(TrainingTest, ASecondThreadMayRenderWhileTrainingRuns) {
  TrainOptions o = quick(strategy());
  o.stop_at = 120;
  auto backend = make_test_backend(backend_name());
  Trainer trainer(*backend, small_scene(), o);
  std::set<std::size_t> reported = {trainer.device_gaussians().size()}, seen;
  std::atomic<bool> is_over = false;
  int pictures = 0;
  std::thread viewer([&] {
    Pass pass;
    View view{small_scene().views[0].camera, trainer.render_options()};
    while (!is_over || pictures == 0) {
      view.camera.camera_from_world.translation.x += 0.01f;
      const RenderedImages images = trainer.with_model([&](const DeviceGaussians& model) {
        seen.insert(model.size());
        return render(*backend, model, view, pass);
      });
      for (const float v : images.color.values) ASSERT_TRUE(std::isfinite(v));
      ++pictures;
    }
  });
  while (!trainer.done()) reported.insert(trainer.step().gaussian_count);
  is_over = true;
  viewer.join();
  EXPECT_GT(pictures, 0);
  for (const std::size_t count : seen) EXPECT_TRUE(reported.contains(count)) << count;
  STIPPLE_SKIP_UNORDERED(backend_name());
  EXPECT_TRUE(same_bits(trainer.gaussians(), train(o, backend_name())));
}

// Someone watches between the steps: the pictures show what with_model() does, and training ends with the
// same bits.
TEST_P(TrainingTest, RenderingBetweenStepsChangesNothing) {
  TrainOptions o = quick(strategy());
  o.stop_at = 60;
  o.render.antialiased = true;  // with a 3D filter
  auto backend = make_test_backend(backend_name());
  Trainer trainer(*backend, small_scene(), o);
  View view{small_scene().views[0].camera, trainer.render_options()};
  view.options.depth = DepthOutput::kExpected;
  while (!trainer.done()) {
    const int step = trainer.step().step;
    if (step % 3 == 0) continue;
    view.camera.camera_from_world.translation.x += 0.01f;
    const RenderedImages shown = download_frame(*backend, trainer.render(view));
    if (step % 20 == 0) {
      const RenderedImages expected =
          trainer.with_model([&](const DeviceGaussians& model) { return render(*backend, model, view); });
      EXPECT_LT(relative_difference(shown.color.values, expected.color.values), 1e-4);
      EXPECT_LT(relative_difference(shown.depth.values, expected.depth.values), 1e-4);
      Gaussians plain = trainer.gaussians();
      ASSERT_GT(plain.sh_degree, 0);
      set_sh_degree(plain, 0);
      EXPECT_LT(relative_difference(download_frame(*backend, trainer.render(view, 0)).color.values,
                                    render(*backend, plain, view).color.values),
                1e-4);
    }
    if (step % 7 == 0) trainer.release_frame();
  }
  STIPPLE_SKIP_UNORDERED(backend_name());
  EXPECT_TRUE(same_bits(trainer.gaussians(), train(o, backend_name())));
}

// When step() returns, the refinement due at that step has been applied.
TEST(Training, RefinementBelongsToTheStepAtWhichItIsDue) {
  auto backend = make_backend("cpu");
  const TrainOptions o = growing();
  Trainer trainer(*backend, small_scene(), o);
  std::size_t before = trainer.device_gaussians().size();
  int refinements = 0;
  for (int i = 0; i < 60; ++i) {
    const StepReport r = trainer.step();
    EXPECT_EQ(r.gaussian_count, trainer.device_gaussians().size());
    EXPECT_EQ(r.gaussian_count > before, Schedule(o, 1).refines_at(r.step)) << r.step;
    refinements += r.gaussian_count > before;
    before = r.gaussian_count;
  }
  EXPECT_GT(refinements, 2);
}

// A run whose last step is due for a refinement ends with the unrefined model. Resuming from its checkpoint
// refines the model first, and ends with the bits of a run that was never stopped.
TEST(Training, TheLastStepIsRefinedOnlyIfTheRunIsResumed) {
  auto backend = make_backend("cpu");
  TestFolder folder;
  TrainOptions o = growing();
  o.stop_at = 160;
  const Gaussians whole = train(o);
  o.stop_at = 60;
  Trainer first(*backend, small_scene(), o);
  ASSERT_TRUE(Schedule(o, 1).refines_at(60));
  std::size_t before = 0;
  while (!first.done()) {
    const StepReport r = first.step([&](const StepReport& trained) {
      EXPECT_EQ(trained.step, first.steps_done() + 1);
      before = first.device_gaussians().size();
    });
    EXPECT_EQ(r.gaussian_count > before, Schedule(o, 1).refines_at(r.step) && r.step < 60);
  }
  EXPECT_EQ(first.steps_done(), 60);
  first.save(folder / "checkpoint");
  o.stop_at = 160;
  Trainer second(*backend, small_scene(), o);
  second.restore(folder / "checkpoint");
  EXPECT_EQ(second.steps_done(), 60);
  while (!second.done()) second.step();
  EXPECT_TRUE(same_bits(whole, second.gaussians()));
}

TEST(Training, LearningRatesFollowTheScalingRuleForBatches) {
  TrainOptions o, four = o;
  four.batch = 4;
  const AdamOptions one = Schedule(o, 2).rates(100, 100), batch = Schedule(four, 2).rates(100, 100);
  EXPECT_FLOAT_EQ(batch.mean, 2 * one.mean);
  EXPECT_FLOAT_EQ(batch.sh_rest, 2 * one.sh_rest);
  EXPECT_FLOAT_EQ(batch.beta1, std::pow(0.9f, 4.0f));
  EXPECT_FLOAT_EQ(batch.beta2, std::pow(0.999f, 4.0f));
}

// Vulkan may run on the CPU, where training is slow, so that one of its variants must do. The strategies run
// on the host.
std::vector<std::tuple<std::string, Strategy>> runs_of(const std::string& vulkan_variant,
                                                       const std::vector<std::string>& names) {
  std::vector<std::tuple<std::string, Strategy>> runs;
  for (const std::string& name : names)
    for (const Strategy strategy : {Strategy::kAdc, Strategy::kMcmc})
      if (plain_name(name) != "vulkan" || (name == vulkan_variant && strategy == Strategy::kMcmc))
        runs.emplace_back(name, strategy);
  return runs;
}

INSTANTIATE_TEST_SUITE_P(Train, TrainingTest,
                         testing::ValuesIn(runs_of("vulkan_deterministic", test_backend_names())), run_name);

// Rounding affects which Gaussians a run splits, but not the quality of the result.
class QualityTest : public TrainingTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QualityTest);

double psnr_after(int steps, Strategy strategy, const std::string& on) {
  TrainOptions o = quick(strategy);
  o.steps = steps;
  auto backend = make_test_backend(on);
  Trainer trainer(*backend, small_scene(), o);
  constexpr int kLast = 50;  // steps to average over: each view five times
  double psnr = 0;
  while (!trainer.done()) {
    const StepReport r = trainer.step();
    if (r.step > steps - kLast) psnr += r.psnr / kLast;
  }
  return psnr;
}

TEST_P(QualityTest, MatchesTheCpu) {
  const double ours = psnr_after(300, strategy(), backend_name()), cpu = psnr_after(300, strategy(), "cpu");
  EXPECT_NEAR(ours, cpu, plain_name(backend_name()) == "cuda" ? 0.3 : 0.1);  // lavapipe: 2e-5
}

INSTANTIATE_TEST_SUITE_P(Train, QualityTest, testing::ValuesIn(runs_of("vulkan", backends_besides_cpu())),
                         run_name);

// A step whose loss or gradient is not finite changes nothing and is counted as skipped.
TEST(Training, SkipsStepsThatAreNotFinite) {
  for (const Fault fault : {Fault::kLoss, Fault::kGradient}) {
    FaultyBackend backend(fault, 3, 5);  // steps 3 to 5
    Trainer trainer(backend, small_scene(), quick(Strategy::kAdc));
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(trainer.step().was_skipped);
    const Gaussians before = trainer.gaussians();
    for (int i = 1; i <= 3; ++i) {
      const StepReport r = trainer.step();
      EXPECT_TRUE(r.was_skipped);
      EXPECT_EQ(r.skipped_in_a_row, i);
      EXPECT_TRUE(same_bits(before, trainer.gaussians()));
    }
    const StepReport r = trainer.step();
    EXPECT_FALSE(r.was_skipped);
    EXPECT_EQ(r.skipped_in_a_row, 0);
    EXPECT_EQ(trainer.skipped_count(), 3);
    EXPECT_FALSE(same_bits(before, trainer.gaussians()));
  }
}

// The mean over all views at the end of a run.
double final_psnr(const Scene& scene) {
  TrainOptions o;
  o.steps = 300;
  auto backend = make_test_backend("cpu");
  Trainer trainer(*backend, scene, o);
  while (!trainer.done()) trainer.step();
  return trainer.evaluate(all_views(scene), {}).psnr;
}

TEST(Training, BlackPointsEndAsWellAsColoredOnes) {
  Scene black = small_scene();
  black.points.color.assign(black.points.size(), {0, 0, 0});
  EXPECT_GT(final_psnr(black), final_psnr(small_scene()) - 0.2);
}

TEST(Training, HeldOutViewsAreNotUsed) {
  // Without the photos of the test views nothing changes, since the trainer does not use them.
  TrainOptions o = quick(Strategy::kAdc);
  o.hold_out = true;
  o.stop_at = 30;
  Scene scene = small_scene();
  const Gaussians expected = train(o);
  for (std::size_t i : scene.test_views()) scene.views[i].image_path = "nowhere";
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, scene, o);
  while (!trainer.done()) trainer.step();
  EXPECT_TRUE(same_bits(expected, trainer.gaussians()));
}

}  // namespace
}  // namespace stipple
