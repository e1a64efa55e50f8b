// SPDX-License-Identifier: Apache-2.0
// Training with a minimum size and with dropout, on small photos of the built-in scene.
#include <gtest/gtest.h>

#include <cmath>

#include "stipple/backend/render.h"
#include "stipple/evaluate/evaluate.h"
#include "stipple/train/density/min_size.h"
#include "stipple/train/filtered_model.h"
#include "stipple/train/schedule.h"
#include "stipple/train/trainer.h"
#include "tests/helpers/all_views.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/synth_scene.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

// The built-in scene with this many views, written to a folder once and loaded from it.
template <int kViews>
const Scene& scene_of() {
  static const TestFolder folder;
  static const Scene scene = make_synth_scene(
      folder.path(), {.view_count = kViews, .width_px = 64, .height_px = 48, .seed = 1}, 1500);
  return scene;
}

TrainOptions quick(Strategy strategy, bool antialiased) {
  TrainOptions o = default_train_options(strategy);
  o.steps = 200;
  o.refine_every = 10;  // too often for real photos, but a test needs many refinements
  o.max_gaussians = 2500;
  o.render.antialiased = antialiased;
  return o;
}

Gaussians train(const Scene& scene, const TrainOptions& options) {
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, scene, options);
  while (!trainer.done()) trainer.step();
  return trainer.gaussians();
}

class FilteredModelTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, FilteredModelTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

TEST_P(FilteredModelTest, LooksAsTheFilterDoes) {
  auto backend = make_test_backend(GetParam());
  Gaussians g = random_cloud(1000, 1, 72, {.log_scale = -4});
  g.logit_opacity[0] = 40;   // opaque in double, too
  g.log_scale[1].x = -2000;  // flat in any precision
  std::vector<float> variance = random_filter(g.size(), -4, 73);
  variance[1] = 0.01f;
  const View view{looking_down_z(120, 90, 100), {.antialiased = true, .scale_modifier = 1.3f}};
  const Rendering filtered(GetParam(), g, view, variance);
  const DeviceGaussians model = upload(*backend, g);
  const DeviceArray<float> device_variance(*backend, variance);
  const DeviceGaussians baked = filtered_model(*backend, model, device_variance, 1.3f);
  const auto color = render(*backend, baked, view).color.values;
  const auto expected = download_frame(*filtered.backend, filtered.frame).color.values;
  EXPECT_LT(relative_difference(color, expected), 1e-4);
  EXPECT_GT(relative_difference(render(*backend, model, view).color.values, expected), 1e-2);
  const Gaussians host = download(*backend, baked);
  for (std::size_t i = 0; i < g.size(); ++i) {
    ASSERT_TRUE(std::isfinite(host.logit_opacity[i])) << i;
    ASSERT_LE(host.logit_opacity[i], g.logit_opacity[i]) << i;
    if (variance[i] == 0) {
      ASSERT_EQ(host.log_scale[i], g.log_scale[i]) << i;
    }
  }
}

class MinSizeTraining : public testing::TestWithParam<Strategy> {};
INSTANTIATE_TEST_SUITE_P(, MinSizeTraining, testing::Values(Strategy::kAdc, Strategy::kMcmc),
                         [](const auto& s) { return s.param == Strategy::kAdc ? "adc" : "mcmc"; });

// Without antialiasing, the scales themselves are limited, from time to time and in the last step.
TEST_P(MinSizeTraining, NoScaleIsBelowTheLimitWhenItIsAppliedOrAtTheEnd) {
  const Scene& scene = scene_of<13>();
  TrainOptions o = quick(GetParam(), false);
  o.steps = 230;
  o.log_scale_rate = 0.1f;  // so that scales fall far
  const MinSize limit(scene, all_views(scene), MinSize::kLimitShare * o.min_size_px, o.render.near_plane);
  const auto count_below = [&](const Gaussians& g) {
    int below = 0;
    for (std::size_t i = 0; i < g.size(); ++i)
      for (int k = 0; k < 3; ++k) below += std::exp(g.log_scale[i][k]) < 0.9999f * limit.at(g.mean[i]);
    return below;
  };
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, scene, o);
  int below_between = 0;
  while (!trainer.done())
    trainer.step([&](const StepReport& r) {
      const int below = count_below(trainer.gaussians());
      if (r.step == 100 || r.step == 200 || r.step == 230)
        EXPECT_EQ(below, 0) << r.step;
      else
        below_between += below;
    });
  EXPECT_GT(below_between, 0);
  EXPECT_EQ(count_below(trainer.gaussians()), 0);
}

// With antialiasing, the filter does the same at every step, and only in what leaves the trainer: the scales
// that are optimised may fall below it.
TEST_P(MinSizeTraining, TheFilterAppliesToEverythingThatIsShown) {
  const Scene& scene = scene_of<13>();
  const TrainOptions o = quick(GetParam(), true);
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, scene, o);
  while (!trainer.done()) trainer.step();
  const Gaussians shown = trainer.gaussians();
  EXPECT_FALSE(same_bits(shown, download(*backend, trainer.device_gaussians())));
  EXPECT_TRUE(same_bits(
      shown, trainer.with_model([&](const DeviceGaussians& model) { return download(*backend, model); })));

  // The saved model scores exactly as it was evaluated.
  const std::vector<std::size_t> views = {0, 7};
  PhotoCache photos(scene.views, std::size_t{1} << 30);
  const Evaluation in_training = trainer.evaluate(views),
                   saved = evaluate(*backend, upload(*backend, shown), scene.views, views, photos, o.render);
  EXPECT_EQ(in_training.psnr, saved.psnr);
  EXPECT_EQ(in_training.ssim, saved.ssim);

  // Without a minimum size, there is no filter.
  TrainOptions none = o;
  none.min_size_px = 0;
  Trainer unfiltered(*backend, scene, none);
  unfiltered.step();
  EXPECT_TRUE(same_bits(unfiltered.gaussians(), download(*backend, unfiltered.device_gaussians())));
}

TEST_P(MinSizeTraining, ResumesToTheSameBitsWithTheFilter) {
  const Scene& scene = scene_of<13>();
  const TrainOptions o = quick(GetParam(), true);
  auto backend = make_backend("cpu");
  TestFolder folder;
  Trainer whole(*backend, scene, o);
  while (!whole.done())
    if (const StepReport r = whole.step(); r.step == 83) whole.save(folder / "checkpoint");
  Trainer resumed(*backend, scene, o);
  resumed.restore(folder / "checkpoint");
  while (!resumed.done()) resumed.step();
  EXPECT_TRUE(same_bits(whole.gaussians(), resumed.gaussians()));

  // Its parameters mean something else without the filter, or with another.
  TrainOptions plain = o, larger = o;
  plain.render.antialiased = false;
  larger.min_size_px *= 2;
  for (const TrainOptions& other : {plain, larger}) {
    Trainer different(*backend, scene, other);
    EXPECT_NE(error_of([&] { different.restore(folder / "checkpoint"); }).find("resume it with"),
              std::string::npos);
  }
}

TEST(DropoutTraining, IsChosenBelowTwelveViews) {
  const TrainOptions o = default_train_options(Strategy::kMcmc);
  const Schedule schedule(o, 1);
  EXPECT_FLOAT_EQ(schedule.dropout(o.steps, 11), 0.2f);
  EXPECT_FLOAT_EQ(schedule.dropout(o.steps / 2, 3), 0.1f);
  EXPECT_EQ(schedule.dropout(o.steps, 12), 0);
  TrainOptions given = o;
  given.dropout = 0.5f;
  EXPECT_FLOAT_EQ(Schedule(given, 1).dropout(o.steps, 100), 0.5f);
  given.dropout = 0;
  EXPECT_EQ(Schedule(given, 1).dropout(o.steps, 3), 0);
}

TEST(DropoutTraining, CountsTheViewsThatAreTrainedOn) {
  TrainOptions o = quick(Strategy::kMcmc, false), off = o;
  o.stop_at = off.stop_at = 30;
  off.dropout = 0;
  EXPECT_TRUE(same_bits(train(scene_of<13>(), o), train(scene_of<13>(), off)));
  o.hold_out = off.hold_out = true;  // 11 are left
  ASSERT_EQ(scene_of<13>().train_views().size(), 11u);
  EXPECT_FALSE(same_bits(train(scene_of<13>(), o), train(scene_of<13>(), off)));
}

// A step sees what the dropout leaves. The guard must not take its lower PSNR for a collapse.
TEST(DropoutTraining, IsNotTakenForACollapse) {
  TrainOptions o = quick(Strategy::kMcmc, false);
  o.steps = 1000;
  o.dropout = 0.9f;
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, scene_of<6>(), o);
  double early = 0, late = 0;
  while (!trainer.done()) {
    const StepReport r = trainer.step();
    EXPECT_FALSE(r.guard) << r.step;
    if (r.step > 200 && r.step <= 300) early += r.psnr / 100;
    if (r.step > 900) late += r.psnr / 100;
  }
  EXPECT_LT(late, early - 4) << "the steps do not show what the guard must ignore";
}

}  // namespace
}  // namespace stipple
