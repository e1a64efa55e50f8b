// SPDX-License-Identifier: Apache-2.0
// A step over several views sums their gradients and makes one update, and it is atomic: it happens
// completely or not at all.
#include <gtest/gtest.h>

#include "stipple/core/error.h"
#include "tests/helpers/batch_scene.h"
#include "tests/helpers/moments.h"

namespace stipple {
namespace {

template <class T>
void add(std::vector<T>& to, const std::vector<T>& from) {
  auto* a = reinterpret_cast<float*>(to.data());
  for (std::size_t i = 0; i < to.size() * sizeof(T) / sizeof(float); ++i) a[i] += floats(from)[i];
}

class BatchTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, BatchTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

TEST_P(BatchTest, SumsTheGradientsOfItsViews) {
  auto backend = make_test_backend(GetParam());
  for (const bool visible_only : {false, true}) {
    BatchScene scene(*backend);
    scene.step.adam.visible_only = visible_only;
    scene.step.absolute_gradients = visible_only;
    TrainState state = make_train_state(*backend, scene.gaussians);
    TrainBuffers buffers;
    const PassResult result = backend->train_step(state, scene.batch(), scene.step, buffers);
    ASSERT_EQ(result.views.size(), scene.views.size());

    // Each view by itself, summed on the host.
    TrainState expected = make_train_state(*backend, scene.gaussians);
    Gaussians total;
    std::vector<Vec2f> view_statistics;
    const WantedGradients wanted{.absolute_mean = scene.step.absolute_gradients, .view_statistics = true};
    for (std::size_t i = 0; i < scene.views.size(); ++i) {
      Pass pass;
      GradientSum sum;
      forward(*backend, expected.gaussians, {}, scene.views[i], pass);
      backend->loss(scene.views[i], scene.targets[i], scene.step.loss, pass);
      backend->blend_backward(scene.views[i], wanted, pass);
      backend->project_backward(expected.gaussians, {}, scene.views[i], wanted, pass, sum);
      EXPECT_EQ(backend->read(pass).views[0].loss.total, result.views[i].loss.total);
      const Gaussians one = download(*backend, sum.gaussians);
      if (i == 0) {
        total = one;
        view_statistics = sum.view_statistics.download(*backend);
        continue;
      }
      for_each_parameter([](int, auto& to, const auto& from) { add(to, from); }, total, one);
      add(view_statistics, sum.view_statistics.download(*backend));
    }
    GradientSum sum;
    sum.gaussians = upload(*backend, total);
    sum.view_statistics.upload(*backend, view_statistics);
    sum.is_empty = false;
    LossOptions penalties = scene.step.loss;  // they count once per view
    penalties.opacity_penalty *= static_cast<float>(scene.views.size());
    penalties.scale_penalty *= static_cast<float>(scene.views.size());
    Pass update;
    backend->optimize(expected, sum, scene.step.adam, penalties, update);

    const Gaussians ours = download(*backend, state.gaussians),
                    theirs = download(*backend, expected.gaussians);
    EXPECT_FALSE(same_bits(ours, scene.gaussians));
    if (is_deterministic(GetParam())) {
      EXPECT_TRUE(same_bits(download(*backend, buffers.sum.gaussians), total));
      EXPECT_TRUE(same_bits(ours, theirs));
      EXPECT_TRUE(same_bits(*backend, state.moments, expected.moments));
      EXPECT_TRUE(same_bits(state.statistics.download(*backend), view_statistics));
    } else {
      int field = 0;
      const Gaussians sum_of_step = download(*backend, buffers.sum.gaussians);
      for_each_parameter(
          [&](int, const auto& a, const auto& b) { EXPECT_LE(relative_difference(a, b), 1e-4) << field++; },
          sum_of_step, total);
      EXPECT_LE(relative_difference(state.statistics.download(*backend), view_statistics), 1e-4);
    }
    for (std::size_t i = 900; i < 1000; ++i) EXPECT_EQ(ours.mean[i], scene.gaussians.mean[i]);
  }
}

TEST_P(BatchTest, TheSameViewTwiceCountsTwice) {
  STIPPLE_SKIP_UNORDERED(GetParam());
  auto backend = make_test_backend(GetParam());
  BatchScene scene(*backend, 1);
  TrainState state = make_train_state(*backend, scene.gaussians);
  TrainBuffers buffers;
  const std::vector<TrainView> twice = {{scene.views[0], &scene.targets[0]},
                                        {scene.views[0], &scene.targets[0]}};
  const PassResult result = backend->train_step(state, twice, scene.step, buffers);
  EXPECT_EQ(result.views[0].loss.total, result.views[1].loss.total);
  for (const Vec2f view_statistics : state.statistics.download(*backend))
    EXPECT_TRUE(view_statistics.y == 0 || view_statistics.y == 2) << view_statistics.y;
}

// Both for one view and for several, the requested gradients are returned and do not change the update.
TEST_P(BatchTest, ReturnsTheGradientsOfCamerasAndBackground) {
  auto backend = make_test_backend(GetParam());
  for (const int count : {1, 3}) {
    BatchScene scene(*backend, count);
    scene.step.wants_camera = scene.step.wants_background = true;
    TrainState state = make_train_state(*backend, scene.gaussians),
               plain = make_train_state(*backend, scene.gaussians);
    TrainBuffers buffers, plain_buffers;
    const PassResult result = backend->train_step(state, scene.batch(), scene.step, buffers);
    ASSERT_EQ(result.views.size(), static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < result.views.size(); ++i) {
      Rendering run(GetParam(), scene.gaussians, scene.views[i]);
      LossTarget target;
      target.color.upload(*run.backend, random_picture(scene.views[i].camera, 101 + i));
      run.backend->loss(scene.views[i], target, scene.step.loss, run.pass);
      Gradients gradients;
      run.backward(scene.views[i], std::move(run.pass.dL_dframe), gradients);
      const std::vector<Vec3f> ours = {result.views[i].camera.camera_from_world.translation,
                                       result.views[i].background},
                               alone = {gradients.camera.camera_from_world.translation, gradients.background};
      EXPECT_LE(relative_difference(ours, alone), 1e-4);
    }
    if (!is_deterministic(GetParam())) continue;
    scene.step.wants_camera = scene.step.wants_background = false;
    backend->train_step(plain, scene.batch(), scene.step, plain_buffers);
    EXPECT_TRUE(same_bits(download(*backend, state.gaussians), download(*backend, plain.gaussians)));
  }
}

TEST_P(BatchTest, OneNonFiniteViewStopsTheWholeStep) {
  auto backend = make_test_backend(GetParam());
  BatchScene scene(*backend);
  scene.step.noise = 1e-3f;
  // A Gaussian so bright that the loss overflows. It is far to the side, so that only the third view shows
  // it.
  scene.gaussians.mean[5] = {40, 0, 0};
  scene.gaussians.log_scale[5] = {-1, -1, -1};
  scene.gaussians.logit_opacity[5] = 3;
  scene.gaussians.sh[5 * 16] = {1e29f, 1e29f, 1e29f};
  scene.views[2].camera.camera_from_world.translation.x = -40;
  TrainState state = make_train_state(*backend, scene.gaussians);
  TrainBuffers buffers;
  EXPECT_FALSE(backend->train_step(state, scene.batch(), scene.step, buffers).is_finite);
  EXPECT_TRUE(same_bits(download(*backend, state.gaussians), scene.gaussians));
  EXPECT_TRUE(are_zero(download(*backend, state.moments)));
  EXPECT_TRUE(same_bits(state.statistics.download(*backend),
                        std::vector<Vec2f>(scene.gaussians.size(), Vec2f(0, 0))));
  // Without that view the step succeeds, whatever the failed step left in the buffers.
  scene.views.erase(scene.views.begin() + 2);
  scene.targets.erase(scene.targets.begin() + 2);
  EXPECT_TRUE(backend->train_step(state, scene.batch(), scene.step, buffers).is_finite);
  EXPECT_FALSE(same_bits(download(*backend, state.gaussians), scene.gaussians));
}

TEST_P(BatchTest, AnExceptionDuringABatchChangesNothing) {
  STIPPLE_SKIP_UNORDERED(GetParam());
  auto backend = make_test_backend(GetParam());
  BatchScene scene(*backend, 3);
  TrainState state = make_train_state(*backend, scene.gaussians),
             fresh = make_train_state(*backend, scene.gaussians);
  TrainBuffers buffers, fresh_buffers;
  TrainStep failing = scene.step;
  int calls = 0;
  failing.own_loss = [&](Backend&, const View&, const Frame&, FrameGradient&) {
    if (++calls == 2) throw Error("the second call of this loss fails");
  };
  EXPECT_THROW(backend->train_step(state, scene.batch(), failing, buffers), Error);
  EXPECT_TRUE(same_bits(download(*backend, state.gaussians), scene.gaussians));
  // The pass renders a frame like a new pass, and the next step gives the same result as with new buffers.
  forward(*backend, state.gaussians, {}, scene.views[0], buffers.pass);
  EXPECT_EQ(backend->read(buffers.pass).views.size(), 1u);
  backend->train_step(state, scene.batch(), scene.step, buffers);
  backend->train_step(fresh, scene.batch(), scene.step, fresh_buffers);
  EXPECT_TRUE(same_bits(download(*backend, state.gaussians), download(*backend, fresh.gaussians)));
}

// A pass can be copied after every stage.
TEST_P(BatchTest, ACopiedPassContinuesLikeTheOriginal) {
  STIPPLE_SKIP_UNORDERED(GetParam());
  const Gaussians g = random_cloud(1000, 1, 104);
  const View view{looking_down_z(90, 70, 80), {.depth = DepthOutput::kExpected}};
  Rendering run(GetParam(), g, view);
  Backend& backend = *run.backend;
  const auto finish = [&](Pass& pass, int from) {
    if (from < 1) backend.bin(view, pass);
    if (from < 2) backend.blend(view, pass);
    pass.dL_dframe = random_gradient(backend, view);
    if (from < 3) backend.blend_backward(view, {}, pass);
    GradientSum sum;
    backend.project_backward(run.gaussians, {}, view, {}, pass, sum);
    return download(backend, sum.gaussians);
  };
  Pass whole;
  backend.project(run.gaussians, {}, view, whole);
  const Gaussians expected = finish(whole, 0);
  Pass pass;
  backend.project(run.gaussians, {}, view, pass);
  Pass copy = backend.copy_of(pass);
  EXPECT_TRUE(same_bits(finish(copy, 0), expected));
  backend.bin(view, pass);
  copy = backend.copy_of(pass);
  EXPECT_TRUE(same_bits(finish(copy, 1), expected));
  backend.blend(view, pass);
  copy = backend.copy_of(pass);
  EXPECT_TRUE(same_bits(finish(copy, 1), expected));  // blended a second time, as Python code may do
  pass.dL_dframe = random_gradient(backend, view);
  backend.blend_backward(view, {.splats = false}, pass);
  copy = backend.copy_of(pass);
  EXPECT_TRUE(same_bits(finish(copy, 3), expected));
  EXPECT_TRUE(same_bits(finish(pass, 3), expected));
}

}  // namespace
}  // namespace stipple
