// SPDX-License-Identifier: Apache-2.0
// Training on photos that contradict each other: it never ends with a model that is worse than an earlier
// one, and what the guard does resumes exactly.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/train/guard.h"
#include "stipple/train/trainer.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/synth_scene.h"

namespace stipple {
namespace {

constexpr SynthOptions kContradictory{.view_count = 30,
                                      .width_px = 48,
                                      .height_px = 36,
                                      .pose_noise_degrees = 3,
                                      .exposure_stops = 0.6f,
                                      .passer_by_count = 15};

const Scene& contradictory_scene() {
  static const TestFolder folder;
  static const Scene scene = make_synth_scene(folder, kContradictory, 800);
  return scene;
}

TrainOptions options_for(int steps) {
  TrainOptions o;
  o.steps = steps;
  o.hold_out = true;
  o.grow_gradient = 2e-4f;  // more growth than is good for these photos
  o.max_gaussians = 2500;   // to save time
  return o;
}

struct Course {
  double best = 0, last = 0;  // PSNR of the held-out views
  int step_count = 0;
  std::vector<GuardEvent> events;
};

Course train_and_evaluate(const TrainOptions& o) {
  auto backend = make_backend("cpu");
  Trainer trainer(*backend, contradictory_scene(), o);
  Course run;
  while (!trainer.done()) {
    const StepReport r = trainer.step();
    if (r.guard) run.events.push_back(*r.guard);
    if (r.step % 100 == 0)
      run.best = std::max(run.best, trainer.evaluate(contradictory_scene().test_views()).psnr);
  }
  run.last = trainer.evaluate(contradictory_scene().test_views()).psnr;
  run.step_count = trainer.steps_done();
  return run;
}

TEST(GuardTraining, DoesNotEndBelowAnEarlierModel) {
  const Course guarded = train_and_evaluate(options_for(1000));
  EXPECT_GT(guarded.last, guarded.best - 0.2);
  EXPECT_FALSE(guarded.events.empty());
  TrainOptions off = options_for(1000);
  off.guard = GuardUse::kOff;
  const Course unguarded = train_and_evaluate(off);
  EXPECT_LT(unguarded.last, unguarded.best - 0.2) << "the photos do not contradict each other enough";
  EXPECT_TRUE(unguarded.events.empty());
  EXPECT_GT(guarded.last, unguarded.last);
}

TEST(GuardTraining, ResumesToTheSameBitsBeforeAndAfterGoingBack) {
  auto backend = make_backend("cpu");
  const TrainOptions o = options_for(900);
  TestFolder folder;
  std::vector<int> saved;
  Trainer whole(*backend, contradictory_scene(), o);
  bool has_gone_back = false;
  while (!whole.done()) {
    const StepReport r = whole.step();
    has_gone_back = has_gone_back || r.guard;
    if (r.step == 130 || (has_gone_back && saved.size() == 1) || r.step == 800) {
      saved.push_back(r.step);
      whole.save(folder / std::to_string(r.step));
    }
  }
  EXPECT_TRUE(has_gone_back);
  EXPECT_GE(saved.size(), 2u);
  for (const int step : saved) {
    Trainer resumed(*backend, contradictory_scene(), o);
    resumed.restore(folder / std::to_string(step));
    while (!resumed.done()) resumed.step();
    EXPECT_EQ(resumed.steps_done(), whole.steps_done());
    EXPECT_TRUE(same_bits(resumed.gaussians(), whole.gaussians())) << step;
  }
}

// A checkpoint from before the watched views were given back can be restored after that.
TEST(GuardTraining, RestoresAnEarlierCheckpoint) {
  auto backend = make_backend("cpu");
  const TrainOptions o = options_for(300);
  TestFolder folder;
  Trainer trainer(*backend, contradictory_scene(), o);
  while (trainer.steps_done() < 220) trainer.step();
  trainer.save(folder / "checkpoint");
  while (!trainer.done()) trainer.step();
  const Gaussians whole = trainer.gaussians();
  trainer.restore(folder / "checkpoint");
  EXPECT_FALSE(trainer.watched_views().empty());
  while (!trainer.done()) trainer.step();
  EXPECT_TRUE(same_bits(whole, trainer.gaussians()));
}

// Stopping a run does not change what it does when it is continued, even if the guard ends it early.
TEST(GuardTraining, StopAtDoesNotChangeARunThatEndsEarly) {
  auto backend = make_backend("cpu");
  TrainOptions o = options_for(900);
  Trainer whole(*backend, contradictory_scene(), o);
  int decided_at = 0;
  while (!whole.done()) {
    const StepReport r = whole.step();
    if (r.guard && r.guard->kind == GuardEvent::Kind::kEndsEarly) decided_at = r.step;
  }
  ASSERT_GT(decided_at, 0);
  ASSERT_LT(whole.steps_done(), 900);
  TestFolder folder;
  o.stop_at = decided_at + 5;
  Trainer first(*backend, contradictory_scene(), o);
  while (!first.done()) first.step();
  EXPECT_EQ(first.steps_done(), o.stop_at);
  first.save(folder / "checkpoint");
  o.stop_at = 0;
  Trainer second(*backend, contradictory_scene(), o);
  second.restore(folder / "checkpoint");
  while (!second.done()) second.step();
  EXPECT_EQ(second.steps_done(), whole.steps_done());
  EXPECT_TRUE(same_bits(whole.gaussians(), second.gaussians()));
}

TEST(GuardTraining, TheWatchedViewsAreNoTestViewsAndAreGivenBack) {
  auto backend = make_backend("cpu");
  const Scene& scene = contradictory_scene();
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
    Trainer trainer(backend, contradictory_scene(), o);
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
  Scene scene = contradictory_scene();
  for (auto& color : scene.points.color) color = {0, 0, 0};
  scene.points.color[0] = {1, 1, 1};
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
