// SPDX-License-Identifier: Apache-2.0
// A loss provided by the caller: its gradients of colour, alpha and depth train the model, either instead of
// the built-in loss or in addition to it.
#include <gtest/gtest.h>

#include <cmath>

#include "stipple/core/error.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {
namespace {

// Half the mean squared difference from target planes of colour, alpha and depth; an empty target is ignored.
struct Squares {
  std::vector<float> color, alpha, depth;
  double value = 0;  // of the last call

  // Adds the gradient to dL and sets `value`.
  void operator()(Backend& backend, const Frame& frame, FrameGradient& dL) {
    value = 0;
    if (!color.empty()) add(backend, frame.color.download(backend), color, 1, dL.color);
    if (!alpha.empty()) {
      std::vector<float> is = frame.transmittance.download(backend);
      for (float& v : is) v = 1 - v;
      add(backend, is, alpha, 1, dL.alpha);
    }
    if (!depth.empty()) add(backend, frame.depth.download(backend), depth, 0.1, dL.depth);
  }

 private:
  void add(Backend& backend, const std::vector<float>& is, const std::vector<float>& wanted, double weight,
           DeviceArray<float>& gradient) {
    std::vector<float> total =
        gradient.empty() ? std::vector<float>(is.size(), 0.0f) : gradient.download(backend);
    const double scale = weight / static_cast<double>(is.size());
    for (std::size_t i = 0; i < is.size(); ++i) {
      const double d = static_cast<double>(is[i] - wanted[i]);
      value += 0.5 * scale * d * d;
      total[i] += static_cast<float>(scale * d);
    }
    gradient.upload(backend, total);
  }
};

class OwnLossTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, OwnLossTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

// The target is the colour, alpha and depth of other Gaussians.
TEST_P(OwnLossTest, TrainsColourAlphaAndDepth) {
  const Gaussians goal = random_cloud(300, 0, 120, {.spread = 1.5f, .log_scale = -2});
  Gaussians start = goal;
  Random random(121);
  for (Vec3f& m : start.mean) m = m + Vec3f(random.normal(), random.normal(), random.normal()) * 0.05f;
  for (Vec3f& c : start.sh) c = c * 0.5f;
  View view{looking_down_z(80, 60, 70), {.depth = DepthOutput::kExpected}};
  view.id = 0;
  Rendering wanted(GetParam(), goal, view);
  Squares squares;
  squares.color = wanted.frame.color.download(*wanted.backend);
  squares.alpha = wanted.frame.transmittance.download(*wanted.backend);
  for (float& v : squares.alpha) v = 1 - v;
  squares.depth = wanted.frame.depth.download(*wanted.backend);

  auto backend = make_test_backend(GetParam());
  TrainState state = make_train_state(*backend, start);
  TrainBuffers buffers;
  TrainStep step;
  step.adam = {
      .mean = 2e-3f, .log_scale = 5e-3f, .rotation = 2e-3f, .logit_opacity = 1e-2f, .sh_base = 1e-2f};
  step.own_loss = [&](Backend& b, const View&, const Frame& frame, FrameGradient& dL) {
    squares(b, frame, dL);
  };
  double first = 0;
  for (step.adam.step = 1; step.adam.step <= 60; ++step.adam.step) {
    const TrainView one{view, nullptr};
    const PassResult result = backend->train_step(state, {&one, 1}, step, buffers);
    EXPECT_TRUE(result.is_finite);
    EXPECT_EQ(result.views[0].loss.total, 0);  // there is no built-in loss
    if (step.adam.step == 1) first = squares.value;
  }
  EXPECT_LT(squares.value, 0.2 * first);
}

TEST_P(OwnLossTest, GradientMatchesFiniteDifferences) {
  const Gaussians g =
      random_cloud(60, 0, 122, {.spread = 0.8f, .log_scale = -1.5f, .logit_opacity_sd = 0.5f});
  const View view{looking_down_z(48, 36, 40), {.depth = DepthOutput::kExpected}};
  auto backend = make_test_backend(GetParam());
  Squares squares;
  squares.color = random_values(3 * 48 * 36, 123);
  squares.alpha = random_values(48 * 36, 124);
  squares.depth = random_values(48 * 36, 125);
  const auto value_at = [&](const Gaussians& at, Pass& pass) {
    forward(*backend, upload(*backend, at), {}, view, pass);
    pass.dL_dframe.color.resize_zero(*backend, 3 * 48 * 36);
    pass.dL_dframe.alpha.resize(*backend, 0);
    pass.dL_dframe.depth.resize(*backend, 0);
    squares(*backend, pass.frame, pass.dL_dframe);
    return squares.value;
  };
  Pass pass;
  value_at(g, pass);
  backend->blend_backward(view, {}, pass);
  GradientSum sum;
  backend->project_backward(upload(*backend, g), {}, view, {}, pass, sum);
  const Gaussians gradient = download(*backend, sum.gaussians);
  double norm2 = 0;
  for (const Vec3f d : gradient.mean) norm2 += static_cast<double>(dot(d, d));
  const double h = 2e-3 / std::sqrt(norm2);  // step along the gradient of the means
  Gaussians ahead = g, behind = g;
  for (std::size_t i = 0; i < g.size(); ++i) {
    ahead.mean[i] = g.mean[i] + gradient.mean[i] * static_cast<float>(h);
    behind.mean[i] = g.mean[i] + gradient.mean[i] * static_cast<float>(-h);
  }
  Pass unused;
  const double slope = (value_at(ahead, unused) - value_at(behind, unused)) / (2 * h);
  EXPECT_NEAR(slope, norm2, 0.02 * norm2);
}

// Gradients that do not match the rendered frame are rejected before any stage reads past their end.
TEST_P(OwnLossTest, RejectsGradientsThatDoNotFitTheFrame) {
  const View view{looking_down_z(48, 36, 40), {}};
  Rendering run(GetParam(), random_cloud(60, 0, 122), view);
  FrameGradient of_depth = random_gradient(*run.backend, view),
                too_small = random_gradient(*run.backend, view);
  of_depth.depth.upload(*run.backend, random_values(48 * 36, 3));
  EXPECT_THROW(run.blend_backward(view, std::move(of_depth)), Error);
  too_small.alpha.upload(*run.backend, random_values(48, 3));
  EXPECT_THROW(run.blend_backward(view, std::move(too_small)), Error);
  EXPECT_THROW(run.blend_backward(view, {}), Error);
  TrainState state = make_train_state(*run.backend, random_cloud(60, 0, 122));
  GradientSum sum;
  run.blend_backward(view, random_gradient(*run.backend, view));
  run.backend->project_backward(state.gaussians, {}, view, {}, run.pass, sum);
  EXPECT_THROW(run.backend->optimize(state, sum, {.visible_only = true}, {}, run.pass), Error);
}

// In addition to the built-in loss, a loss that adds nothing leaves the bits unchanged, and one that adds
// something changes them.
TEST_P(OwnLossTest, AddsToTheBuiltInLoss) {
  STIPPLE_SKIP_UNORDERED(GetParam());
  auto backend = make_test_backend(GetParam());
  const Gaussians g = random_cloud(500, 1, 126);
  View view{looking_down_z(80, 60, 70), {}};
  view.id = 0;
  LossTarget target;
  target.color.upload(*backend, random_picture(view.camera, 127));
  const auto trained = [&](FrameLoss own_loss) {
    TrainState state = make_train_state(*backend, g);
    TrainBuffers buffers;
    TrainStep step;
    step.adam = kTestRates;
    step.own_loss = std::move(own_loss);
    const PassResult result = step_on(*backend, state, view, target, step, buffers);
    EXPECT_GT(result.views[0].loss.total, 0);
    return download(*backend, state.gaussians);
  };
  const Gaussians plain = trained({});
  int calls = 0;
  EXPECT_TRUE(same_bits(trained([&](Backend&, const View& v, const Frame& frame, FrameGradient& dL) {
                          ++calls;
                          EXPECT_EQ(v.id, 0);
                          EXPECT_EQ(frame.color.size(), dL.color.size());
                        }),
                        plain));
  EXPECT_GE(calls, 1);
  Squares squares;
  squares.alpha.assign(80 * 60, 1.0f);
  EXPECT_FALSE(same_bits(
      trained([&](Backend& b, const View&, const Frame& frame, FrameGradient& dL) { squares(b, frame, dL); }),
      plain));
}

}  // namespace
}  // namespace stipple
