// SPDX-License-Identifier: Apache-2.0
// The guard in training: a model that gets worse or collapses is given up for the best one, and all of it
// resumes exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/train/guard.h"
#include "stipple/train/trainer.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/synth_scene.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

constexpr SynthOptions kSmall{.view_count = 30, .width_px = 48, .height_px = 36};

const Scene& small_scene() {
  static const TestFolder folder;
  static const Scene scene = make_synth_scene(folder.path(), kSmall, 800);
  return scene;
}

TrainOptions options_for(int steps) {
  TrainOptions o;
  o.steps = steps;
  o.hold_out = true;
  o.max_gaussians = 1500;  // to save time
  return o;
}

// A CPU backend that makes all Gaussians grow a little faster than the optimiser can shrink them, from some
// update on, so that the model gets worse from all sides.
class SpoilingBackend : public cpu::CpuBackend {
 public:
  static constexpr int kFirst = 300;
  explicit SpoilingBackend(int updates_before = 0) : update_(updates_before) {}
  void project_backward_optimize(TrainState& state, const View& view, const WantedGradients& wanted,
                                 const AdamOptions& adam, const LossOptions& loss, Pass& pass) override {
    cpu::CpuBackend::project_backward_optimize(state, view, wanted, adam, loss, pass);
    if (++update_ < kFirst) return;
    for (Vec3f& s : cpu::host(state.gaussians.log_scale)) s = s + Vec3f(1, 1, 1) * kGrowth;
  }

 private:
  static constexpr float kGrowth = 5.75e-3f;  // the learning rate is 5e-3
  int update_;
};

double watched_psnr(Trainer& trainer, std::span<const std::size_t> views) {
  return trainer.evaluate(views).psnr;
}

// Once the model gets worse, the run goes back to the best model, twice, and then ends near it.
TEST(GuardTraining, GoesBackToTheBestModelAndEndsWithIt) {
  SpoilingBackend backend;
  Trainer trainer(backend, small_scene(), options_for(2000));
  const std::vector<std::size_t> watched(trainer.watched_views().begin(), trainer.watched_views().end());
  std::vector<GuardEvent> events;
  while (!trainer.done()) {
    const StepReport r = trainer.step();
    if (!r.guard) continue;
    events.push_back(*r.guard);
    EXPECT_LT(r.guard->psnr, r.guard->best_psnr);
    if (r.step % 100 == 0 && r.guard->kind == GuardEvent::Kind::kStoppedGrowth) {
      EXPECT_NEAR(watched_psnr(trainer, watched), r.guard->best_psnr, 0.3);  // refined after going back
    }
  }
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].kind, GuardEvent::Kind::kStoppedGrowth);
  EXPECT_EQ(events[1].kind, GuardEvent::Kind::kEndsEarly);
  EXPECT_EQ(trainer.steps_done(), events[1].last_step);
  EXPECT_LT(trainer.steps_done(), 2000);
  EXPECT_TRUE(trainer.watched_views().empty());
}

TEST(GuardTraining, OffMeansThatNoViewIsWatchedAndTheRunGoesOn) {
  SpoilingBackend backend;
  TrainOptions o = options_for(900);
  o.guard = GuardUse::kOff;
  Trainer trainer(backend, small_scene(), o);
  EXPECT_TRUE(trainer.watched_views().empty());
  while (!trainer.done()) {
    const StepReport r = trainer.step();
    EXPECT_TRUE(!r.guard || r.guard->kind == GuardEvent::Kind::kRecovered);
  }
}

// With antialiasing, the best model is kept with its 3D filter.
class GuardResumes : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, GuardResumes, testing::Bool(),
                         [](const auto& antialiased) { return antialiased.param ? "antialiased" : "plain"; });

TEST_P(GuardResumes, ToTheSameBitsBeforeAndAfterGoingBack) {
  TrainOptions o = options_for(2000);
  o.render.antialiased = GetParam();
  SpoilingBackend backend;
  TestFolder folder;
  std::vector<int> saved;
  Trainer whole(backend, small_scene(), o);
  int events = 0;
  while (!whole.done()) {
    const StepReport r = whole.step();
    events += r.guard.has_value();
    // Before the first event, after each, and in the polish.
    if (r.step == 130 || r.guard || r.step == whole.last_step() - 3) {
      saved.push_back(r.step);
      whole.save(folder / std::to_string(r.step));
    }
  }
  EXPECT_EQ(events, 2);
  for (const int step : saved) {
    SpoilingBackend again(step);
    Trainer resumed(again, small_scene(), o);
    resumed.restore(folder / std::to_string(step));
    while (!resumed.done()) resumed.step();
    EXPECT_EQ(resumed.steps_done(), whole.steps_done());
    EXPECT_TRUE(same_bits(resumed.gaussians(), whole.gaussians())) << step;
  }
}

// Stopping a run does not change what it does when it is continued, even if the guard ends it early.
TEST(GuardTraining, StopAtDoesNotChangeARunThatEndsEarly) {
  TrainOptions o = options_for(2000);
  SpoilingBackend backend;
  Trainer whole(backend, small_scene(), o);
  int decided_at = 0;
  while (!whole.done())
    if (const StepReport r = whole.step(); r.guard) decided_at = r.step;
  ASSERT_LT(whole.steps_done(), 2000);
  TestFolder folder;
  o.stop_at = decided_at + 5;
  SpoilingBackend stopped;
  Trainer first(stopped, small_scene(), o);
  while (!first.done()) first.step();
  EXPECT_EQ(first.steps_done(), o.stop_at);
  first.save(folder / "checkpoint");
  o.stop_at = 0;
  Trainer second(stopped, small_scene(), o);
  second.restore(folder / "checkpoint");
  while (!second.done()) second.step();
  EXPECT_EQ(second.steps_done(), whole.steps_done());
  EXPECT_TRUE(same_bits(whole.gaussians(), second.gaussians()));
}

// A checkpoint from before the watched views were given back can be restored after that.
TEST(GuardTraining, RestoresAnEarlierCheckpoint) {
  auto backend = make_backend("cpu");
  const TrainOptions o = options_for(300);
  TestFolder folder;
  Trainer trainer(*backend, small_scene(), o);
  while (trainer.steps_done() < 220) trainer.step();
  trainer.save(folder / "checkpoint");
  while (!trainer.done()) trainer.step();
  const Gaussians whole = trainer.gaussians();
  trainer.restore(folder / "checkpoint");
  EXPECT_FALSE(trainer.watched_views().empty());
  while (!trainer.done()) trainer.step();
  EXPECT_TRUE(same_bits(whole, trainer.gaussians()));
}

TEST(GuardTraining, TheWatchedViewsAreNoTestViewsAndAreGivenBack) {
  auto backend = make_backend("cpu");
  const Scene& scene = small_scene();
  Trainer trainer(*backend, scene, options_for(300));
  const std::vector<std::size_t> watched(trainer.watched_views().begin(), trainer.watched_views().end());
  EXPECT_EQ(watched, choose_watched(scene.train_views()));
  EXPECT_FALSE(watched.empty());
  while (trainer.steps_done() < 239) trainer.step();
  EXPECT_FALSE(trainer.watched_views().empty());
  trainer.step();
  EXPECT_TRUE(trainer.watched_views().empty());
}

// A CPU backend that makes all Gaussians transparent after one update.
class CollapsingBackend : public cpu::CpuBackend {
 public:
  explicit CollapsingBackend(int at) : at_(at) {}
  void project_backward_optimize(TrainState& state, const View& view, const WantedGradients& wanted,
                                 const AdamOptions& adam, const LossOptions& loss, Pass& pass) override {
    cpu::CpuBackend::project_backward_optimize(state, view, wanted, adam, loss, pass);
    if (++update_ == at_)
      for (float& logit : cpu::host(state.gaussians.logit_opacity)) logit = -12;
  }

 private:
  int at_, update_ = 0;
};

// A collapse is noticed without watched views, too.
TEST(GuardTraining, RecoversAModelThatCollapses) {
  for (const GuardUse guard : {GuardUse::kAuto, GuardUse::kOff}) {
    TrainOptions o = options_for(600);
    o.guard = guard;
    o.refine_until = 0;
    CollapsingBackend backend(250);
    Trainer trainer(backend, small_scene(), o);
    std::vector<GuardEvent> events;
    double before = 0, last = 0;
    while (!trainer.done()) {
      const StepReport r = trainer.step();
      if (r.guard && r.guard->kind == GuardEvent::Kind::kRecovered) events.push_back(*r.guard);
      if (r.step > 150 && r.step <= 200) before += r.psnr / 50;
      if (r.step > 550) last += r.psnr / 50;
    }
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].best_step, 200);
    EXPECT_GT(last, before - 0.5);
  }
}

// In training, no colour channel is trapped below the clamp: those whose photos are brighter come back.
TEST(GuardTraining, NoColourChannelIsTrappedAtTheClamp) {
  auto backend = make_backend("cpu");
  TrainOptions o = options_for(200);
  o.refine_until = 0;  // the same Gaussians throughout
  Scene scene = small_scene();
  // Points that all had the same colour would get that of the photos.
  for (std::size_t i = 0; i < scene.points.size(); ++i)
    scene.points.color[i] = {static_cast<std::uint8_t>(i % 2), 0, 0};
  Trainer trainer(*backend, scene, o);
  while (!trainer.done()) trainer.step();
  const Gaussians g = trainer.gaussians();
  std::size_t positive = 0;
  for (std::size_t i = 0; i < g.size(); ++i)
    positive += g.sh[i * static_cast<std::size_t>(g.sh_count())].x * Math<float>::sh_0 + 0.5f > 0;
  EXPECT_GT(positive, g.size() * 9 / 10);
}

}  // namespace
}  // namespace stipple
