// SPDX-License-Identifier: Apache-2.0
// The depth loss: the stage of every backend, a training step with it, and the trainer.
#include <gtest/gtest.h>

#include <cmath>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/train/depth_samples.h"
#include "stipple/train/trainer.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/synth_scene.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

using M = Math<double>;

constexpr float kWeight = 0.3f;

// Every third pixel has a sample, with a depth around that of the test's Gaussians.
KnownDepths random_depths(std::size_t pixel_count, std::uint64_t seed) {
  Random random(seed);
  KnownDepths known;
  known.scale = 4;
  for (std::uint32_t pixel = 0; pixel < pixel_count; pixel += 3)
    known.samples.push_back({pixel, 1 / random.uniform(2, 6)});
  return known;
}

DepthSamples to_device(Backend& backend, const KnownDepths& known) {
  DepthSamples depths;
  depths.samples.upload(backend, known.samples);
  depths.scale = known.scale;
  return depths;
}

// The gradient at a sample, in double.
M::DepthPixel direct_gradient(const KnownDepths& known, std::size_t i, double inverse_depth, double alpha) {
  const double dL_derror = static_cast<double>(kWeight) * static_cast<double>(known.scale) /
                           static_cast<double>(known.samples.size());
  return M::depth_error_vjp({inverse_depth, alpha}, static_cast<double>(known.samples[i].inverse_depth),
                            dL_derror);
}

class DepthLoss : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, DepthLoss, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

TEST_P(DepthLoss, AddsToTheGradientOfThePixelsWithASample) {
  constexpr int kWidth = 61, kHeight = 37;
  constexpr std::size_t kPixels = kWidth * kHeight;
  auto backend = make_test_backend(GetParam());
  Pass pass;
  pass.frame.width_px = kWidth;
  pass.frame.height_px = kHeight;
  std::vector<float> inverse_depth = random_values(kPixels, 1), transmittance = random_values(kPixels, 2);
  for (float& v : inverse_depth) v = 0.3f + 0.2f * v;
  for (float& v : transmittance) v = std::abs(v);
  pass.frame.color.resize_zero(*backend, 3 * kPixels);
  pass.frame.depth.upload(*backend, inverse_depth);
  pass.frame.transmittance.upload(*backend, transmittance);
  const KnownDepths known = random_depths(kPixels, 3);
  // The first time there is no gradient of alpha and depth yet.
  for (const double calls : {1.0, 2.0}) {
    backend->depth_loss(to_device(*backend, known), kWeight, pass);
    const std::vector<float> dL_ddepth = pass.dL_dframe.depth.download(*backend),
                             dL_dalpha = pass.dL_dframe.alpha.download(*backend);
    ASSERT_EQ(dL_ddepth.size(), kPixels);
    ASSERT_EQ(dL_dalpha.size(), kPixels);
    for (std::size_t i = 0; i < known.samples.size(); ++i) {
      const std::size_t px = known.samples[i].pixel;
      const M::DepthPixel d = direct_gradient(known, i, static_cast<double>(inverse_depth[px]),
                                              1 - static_cast<double>(transmittance[px]));
      ASSERT_NEAR(dL_ddepth[px], calls * d.inverse_depth, 1e-6 * calls * std::abs(d.inverse_depth));
      ASSERT_NEAR(dL_dalpha[px], calls * d.alpha, 1e-6 * calls * std::abs(d.alpha));
      if (px + 1 < kPixels) {
        ASSERT_EQ(dL_ddepth[px + 1], 0);
        ASSERT_EQ(dL_dalpha[px + 1], 0);
      }
    }
  }
}

Picture reference_gradient(const Picture& picture, const KnownDepths& known) {
  Picture dL;
  dL.channels.assign(picture.alpha.size(), {0, 0, 0, 0});
  dL.alpha.assign(picture.alpha.size(), 0);
  for (std::size_t i = 0; i < known.samples.size(); ++i) {
    const std::size_t px = known.samples[i].pixel;
    const M::DepthPixel d = direct_gradient(known, i, picture.channels[px].w, picture.alpha[px]);
    dL.channels[px].w = d.inverse_depth;
    dL.alpha[px] = d.alpha;
  }
  return dL;
}

template <class T, class U>
double relative_error(const std::vector<T>& ours, const std::vector<U>& expected) {
  const auto* is = reinterpret_cast<const float*>(ours.data());
  const auto* wanted = reinterpret_cast<const double*>(expected.data());
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < ours.size() * sizeof(T) / sizeof(float); ++i) {
    const double difference = static_cast<double>(is[i]) - wanted[i];
    error += difference * difference;
    norm += wanted[i] * wanted[i];
  }
  EXPECT_GT(norm, 0);
  return std::sqrt(error / norm);
}

TEST_P(DepthLoss, GradientOfTheGaussiansMatchesTheReference) {
  const Gaussians g =
      random_cloud(60, 1, 122, {.spread = 0.8f, .log_scale = -1.5f, .logit_opacity_sd = 0.5f});
  const View view{looking_down_z(48, 36, 40), {.depth = DepthOutput::kInverse}};
  const KnownDepths known = random_depths(48 * 36, 123);
  Rendering run(GetParam(), g, view);
  run.pass.dL_dframe.color.resize_zero(*run.backend, 3 * 48 * 36);
  run.backend->depth_loss(to_device(*run.backend, known), kWeight, run.pass);
  run.backend->blend_backward(view, {}, run.pass);
  GradientSum sum;
  run.backend->project_backward(run.gaussians, {}, view, {}, run.pass, sum);
  const Gaussians ours = download(*run.backend, sum.gaussians);

  const Reference scene = to_reference(g, view);
  const Reference expected = reference_backward(scene, reference_gradient(reference_render(scene), known));
  EXPECT_LE(relative_error(ours.mean, expected.mean), 1e-4);
  EXPECT_LE(relative_error(ours.log_scale, expected.log_scale), 1e-4);
  EXPECT_LE(relative_error(ours.rotation, expected.rotation), 1e-4);
  EXPECT_LE(relative_error(ours.logit_opacity, expected.logit_opacity), 1e-4);
}

// The mean of |rendered depth / known depth - 1| over the samples.
double mean_depth_error(Backend& backend, const DeviceGaussians& gaussians, View view,
                        const KnownDepths& known) {
  view.options.depth = DepthOutput::kInverse;
  Pass pass;
  forward(backend, gaussians, {}, view, pass);
  const std::vector<float> inverse_depth = pass.frame.depth.download(backend),
                           transmittance = pass.frame.transmittance.download(backend);
  double sum = 0;
  for (const DepthSample& s : known.samples) {
    const double depth = (1 - static_cast<double>(transmittance[s.pixel])) /
                         std::max(1e-6, static_cast<double>(inverse_depth[s.pixel]));
    sum += std::abs(depth * static_cast<double>(s.inverse_depth) - 1);
  }
  return sum / static_cast<double>(known.samples.size());
}

// A wall at depth 4, of which the samples say that it is at depth 5. There is no photo.
TEST_P(DepthLoss, MovesAWallToTheKnownDepth) {
  Gaussians wall = random_cloud(1000, 0, 5, {.spread = 4, .log_scale = -0.5f, .log_scale_sd = 0.1f});
  for (Vec3f& mean : wall.mean) mean.z = 0;
  for (float& opacity : wall.logit_opacity) opacity = 1;
  View view{looking_down_z(48, 36, 60), {}};
  view.id = 0;
  KnownDepths known;
  known.scale = 5;
  for (std::uint32_t pixel = 0; pixel < 48 * 36; pixel += 5) known.samples.push_back({pixel, 1 / 5.0f});

  auto backend = make_test_backend(GetParam());
  TrainState state = make_train_state(*backend, wall);
  EXPECT_NEAR(mean_depth_error(*backend, state.gaussians, view, known), 0.2, 0.02);
  const DepthSamples depths = to_device(*backend, known);
  TrainBuffers buffers;
  TrainStep step;
  step.depth_weight = 1;
  for (step.adam.step = 1; step.adam.step <= 120; ++step.adam.step) {
    step.adam.mean = 0.03f * (1 - static_cast<float>(step.adam.step) / 121);
    const TrainView one{view, nullptr, &depths};
    EXPECT_TRUE(backend->train_step(state, {&one, 1}, step, buffers).is_finite);
  }
  EXPECT_LT(mean_depth_error(*backend, state.gaussians, view, known), 0.1);
}

// Counts the frames that were rendered with depth, and the calls of depth_loss.
class CountingBackend : public cpu::CpuBackend {
 public:
  int depth_frames = 0, depth_losses = 0, frames = 0;

  void blend(const View& view, Pass& pass) override {
    ++frames;
    depth_frames += view.options.depth != DepthOutput::kNone;
    cpu::CpuBackend::blend(view, pass);
  }
  void depth_loss(const DepthSamples& depths, float weight, Pass& pass) override {
    ++depth_losses;
    cpu::CpuBackend::depth_loss(depths, weight, pass);
  }
};

TEST(DepthLossStep, RendersDepthOnlyIfItIsUsed) {
  CountingBackend backend;
  const Gaussians g = random_cloud(300, 0, 126);
  View view{looking_down_z(80, 60, 70), {}};
  view.id = 0;
  LossTarget target;
  target.color.upload(backend, random_picture(view.camera, 127));
  const auto trained = [&](const DepthSamples* depths, float weight) {
    TrainState state = make_train_state(backend, g);
    TrainBuffers buffers;
    TrainStep step;
    step.adam = kTestRates;
    step.depth_weight = weight;
    const TrainView one{view, &target, depths};
    backend.train_step(state, {&one, 1}, step, buffers);
    return download(backend, state.gaussians);
  };
  const DepthSamples none, some = to_device(backend, random_depths(80 * 60, 3));
  const Gaussians plain = trained(nullptr, 1);
  EXPECT_TRUE(same_bits(trained(&none, 1), plain));
  EXPECT_TRUE(same_bits(trained(&some, 0), plain));
  EXPECT_EQ(backend.depth_frames, 0);
  EXPECT_EQ(backend.depth_losses, 0);
  EXPECT_FALSE(same_bits(trained(&some, 1), plain));
  EXPECT_EQ(backend.depth_frames, 1);
  EXPECT_EQ(backend.depth_losses, 1);
}

const Scene& small_scene() {
  static const TestFolder folder;
  static const Scene scene =
      make_synth_scene(folder.path(), {.view_count = 6, .width_px = 64, .height_px = 48, .seed = 1}, 1500);
  return scene;
}

TrainOptions quick(float depth_weight) {
  TrainOptions o = default_train_options(Strategy::kMcmc);
  o.steps = 200;
  o.max_gaussians = 3000;
  o.depth_weight = depth_weight;
  o.depth_decay = 1;
  o.depth_every = 2;
  return o;
}

// Over all views.
double mean_depth_error(Backend& backend, const Trainer& trainer) {
  double sum = 0;
  for (const SceneView& view : small_scene().views)
    sum += mean_depth_error(backend, trainer.device_gaussians(), {view.camera, {}},
                            known_depths(small_scene().points, view.camera));
  return sum / static_cast<double>(small_scene().views.size());
}

TEST(DepthTraining, AStrongWeightKeepsTheModelAtThePoints) {
  CountingBackend plain_backend, backend;
  Trainer plain(plain_backend, small_scene(), quick(0)), strong(backend, small_scene(), quick(1));
  while (!plain.done()) plain.step();
  while (!strong.done()) strong.step();
  EXPECT_EQ(plain_backend.depth_frames, 0);
  EXPECT_EQ(plain_backend.depth_losses, 0);
  EXPECT_EQ(backend.depth_losses, 100);
  EXPECT_EQ(backend.depth_frames, backend.depth_losses);
  EXPECT_LT(mean_depth_error(backend, strong), 0.6 * mean_depth_error(plain_backend, plain));
}

TEST(DepthTraining, ResumingGivesTheSameBits) {
  TrainOptions o = quick(0.1f);
  o.stop_at = 40;
  o.batch = 2;
  const auto backend = make_test_backend("cpu");
  TestFolder folder;
  Trainer whole(*backend, small_scene(), o), rest(*backend, small_scene(), o);
  while (!whole.done()) {
    whole.step();
    if (whole.steps_done() == 17) whole.save(folder / "checkpoint");
  }
  rest.restore(folder / "checkpoint");
  while (!rest.done()) rest.step();
  EXPECT_TRUE(same_bits(whole.gaussians(), rest.gaussians()));
}

// Random points say nothing about depths.
TEST(DepthTraining, PointsThatWereNotMeasuredAreIgnored) {
  Scene scene = small_scene();
  scene.has_random_points = true;
  CountingBackend backend;
  Trainer trainer(backend, scene, quick(1));
  for (int i = 0; i < 10; ++i) trainer.step();
  EXPECT_EQ(backend.depth_frames, 0);
}

}  // namespace
}  // namespace stipple
