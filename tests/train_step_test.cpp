// SPDX-License-Identifier: Apache-2.0
// train_step is equivalent to running its stages one after the other, however a backend speeds it up, and its
// result depends on nothing but its inputs.
#include <gtest/gtest.h>

#include <limits>

#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/moments.h"

namespace stipple {
namespace {

// A training step on one view, with random noise as its photo.
struct Exercise {
  Gaussians gaussians;
  View view;
  TrainStep what;
  bool has_weights = false;
  std::vector<float> filter_variance{};
};

Exercise exercise(const Gaussians& gaussians, const Camera& camera) {
  Exercise e{gaussians, {camera, {.background = {0.1f, 0.3f, 0.6f}}}, {}, false};
  e.view.id = 0;
  e.what.adam = kTestRates;
  return e;
}

// A plain step, one with every option, and one with every option that alters the Gaussians.
std::vector<Exercise> exercises() {
  Exercise plain = exercise(random_cloud(3000, 3, 80), looking_down_z(160, 120, 140));
  for (std::size_t i = 700; i < 900; ++i) plain.gaussians.mean[i].z = -100;  // some are invisible
  Exercise full = plain;
  full.view.options.antialiased = true;
  full.what.absolute_gradients = true;
  full.what.noise = 1e-3f;
  full.what.noise_seed = 9;
  full.what.adam.visible_only = true;
  full.what.loss.opacity_penalty = full.what.loss.scale_penalty = 0.01f;
  full.has_weights = true;
  Exercise altered = full;
  altered.filter_variance = random_filter(plain.gaussians.size(), -3, 84);
  altered.view.dropout = {0.2f, 85};
  return {plain, full, altered};
}

struct Training {
  TrainState state;
  LossTarget target;

  Training(Backend& backend, const Exercise& e) {
    state = make_train_state(backend, e.gaussians);
    if (!e.filter_variance.empty()) state.precomputed.filter_variance.upload(backend, e.filter_variance);
    target.color.upload(backend, random_picture(e.view.camera, 81));
    if (!e.has_weights) return;
    std::vector<float> weight(target.color.size() / 3, 1.0f);
    for (std::size_t i = 0; i < weight.size(); i += 5) weight[i] = 0.25f * static_cast<float>(i % 4);
    target.weight.upload(backend, weight);
  }
};

struct Result {
  PassResult outcome;
  Gaussians gaussians;
  HostMoments moments;
  std::vector<Vec2f> statistics;

  Result(const Backend& backend, const PassResult& from_outcome, const TrainState& state)
      : outcome(from_outcome),
        gaussians(download(backend, state.gaussians)),
        moments(download(backend, state.moments)),
        statistics(state.statistics.download(backend)) {}

  LossValue loss() const { return outcome.views.empty() ? LossValue() : outcome.views[0].loss; }
};

void expect_same_state(const Result& a, const Result& b) {
  EXPECT_TRUE(same_bits(a.gaussians, b.gaussians));
  EXPECT_TRUE(same_bits(a.moments, b.moments));
  EXPECT_TRUE(same_bits(a.statistics, b.statistics));
}

void expect_same(const Result& a, const Result& b) {
  EXPECT_EQ(a.outcome.is_finite, b.outcome.is_finite);
  EXPECT_EQ(a.loss().total, b.loss().total);
  EXPECT_EQ(a.loss().mean_squared_error, b.loss().mean_squared_error);
  expect_same_state(a, b);
}

void expect_close(const Result& a, const Result& b, double tolerance) {
  EXPECT_EQ(a.outcome.is_finite, b.outcome.is_finite);
  EXPECT_NEAR(a.loss().total, b.loss().total, tolerance * b.loss().total);
  EXPECT_NEAR(a.loss().mean_squared_error, b.loss().mean_squared_error,
              tolerance * b.loss().mean_squared_error);
  const auto expect_each = [&](const char* what, const Gaussians& x, const Gaussians& y) {
    int field = 0;
    for_each_parameter(
        [&](int, const auto& u, const auto& v) {
          EXPECT_LE(relative_difference(u, v), tolerance) << what << ", parameter " << field;
          ++field;
        },
        x, y);
  };
  expect_each("values", a.gaussians, b.gaussians);
  const DecodedMoments of_a = decoded(a.moments), of_b = decoded(b.moments);
  expect_each("first moments", of_a.first, of_b.first);
  expect_each("second moments", of_a.second, of_b.second);
  EXPECT_LE(relative_difference(a.statistics, b.statistics), tolerance);
}

// `count` steps on the same view.
Result run_steps(Backend& backend, Exercise e, int count, TrainBuffers& buffers) {
  Training t(backend, e);
  PassResult outcome;
  for (e.what.adam.step = 1; e.what.adam.step <= count; ++e.what.adam.step)
    outcome = step_on(backend, t.state, e.view, t.target, e.what, buffers);
  return {backend, outcome, t.state};
}

// The same with separate stages.
Result run_stages(Backend& backend, Exercise e, int count) {
  Training t(backend, e);
  PassResult outcome;
  const WantedGradients wanted{.absolute_mean = e.what.absolute_gradients, .view_statistics = true};
  e.view.id = kNoView;
  for (e.what.adam.step = 1; e.what.adam.step <= count; ++e.what.adam.step) {
    Pass pass;
    GradientSum sum;
    forward(backend, t.state.gaussians, t.state.precomputed, e.view, pass);
    backend.loss(e.view, t.target, e.what.loss, pass);
    backend.blend_backward(e.view, wanted, pass);
    backend.project_backward(t.state.gaussians, t.state.precomputed, e.view, wanted, pass, sum);
    backend.optimize(t.state, sum, e.what.adam, e.what.loss, pass);
    if (e.what.noise != 0) backend.perturb(t.state, e.what.noise, e.what.noise_seed, pass);
    outcome = backend.read(pass);
  }
  return {backend, outcome, t.state};
}

class TrainStepTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, TrainStepTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

TEST_P(TrainStepTest, EqualsItsStages) {
  auto backend = make_test_backend(GetParam());
  for (const Exercise& e : exercises()) {
    TrainBuffers buffers;
    // If the order of sums is not fixed, Adam turns rounding errors into full steps where a gradient is
    // almost zero.
    const bool is_exact = is_deterministic(GetParam());
    const int steps = is_exact ? 3 : 1;
    const Result step = run_steps(*backend, e, steps, buffers), stages = run_stages(*backend, e, steps);
    EXPECT_TRUE(step.outcome.is_finite);
    EXPECT_GT(step.loss().total, 0);
    EXPECT_FALSE(same_bits(step.gaussians, e.gaussians));
    expect_close(step, stages, is_exact ? 1e-6 : 1e-4);
    if (GetParam() == "cpu") expect_same(step, stages);
  }
}

// The square of a colour may overflow although the colour itself is not large enough to be culled.
TEST_P(TrainStepTest, AnInfiniteLossChangesNothing) {
  auto backend = make_test_backend(GetParam());
  Exercise e = exercises()[1];
  TrainBuffers buffers;
  for (const float color : {1e22f, 1e29f}) {
    Exercise huge = e;
    const std::size_t one = 1200, base = one * static_cast<std::size_t>(huge.gaussians.sh_count());
    huge.gaussians.mean[one] = {0, 0, -1};
    huge.gaussians.logit_opacity[one] = 3;
    huge.gaussians.sh[base] = {color, color, color};
    Training t(*backend, huge);
    const Result before(*backend, {}, t.state);
    const PassResult outcome = step_on(*backend, t.state, huge.view, t.target, huge.what, buffers);
    EXPECT_FALSE(outcome.is_finite) << color;
    expect_same_state({*backend, outcome, t.state}, before);
  }
  // What the failed step left in the buffers does not affect the next one.
  STIPPLE_SKIP_UNORDERED(GetParam());
  TrainBuffers fresh;
  expect_same(run_steps(*backend, e, 1, buffers), run_steps(*make_test_backend(GetParam()), e, 1, fresh));
}

TEST_P(TrainStepTest, BuffersMayBeReusedByDifferentSteps) {
  STIPPLE_SKIP_UNORDERED(GetParam());
  auto backend = make_test_backend(GetParam());
  TrainBuffers buffers;
  for (const auto& [count, degree, width, height] : {std::tuple{2000, 3, 160, 120},
                                                     {300, 0, 33, 20},
                                                     {5000, 2, 245, 136},
                                                     {0, 3, 40, 30},
                                                     {1, 1, 1, 1},
                                                     {4000, 1, 17, 200},
                                                     {2000, 3, 160, 120}}) {
    Exercise e = exercise(random_cloud(static_cast<std::size_t>(count), degree, 82),
                          looking_down_z(width, height, static_cast<float>(width)));
    for (const bool absolute : {true, false}) {
      e.what.absolute_gradients = absolute;
      TrainBuffers fresh;
      const Result used = run_steps(*backend, e, 2, buffers);
      expect_same(used, run_steps(*make_test_backend(GetParam()), e, 2, fresh));
    }
  }
}

TEST_P(TrainStepTest, TwentyStepsAreReproducibleToTheBit) {
  STIPPLE_SKIP_UNORDERED(GetParam());
  auto backend = make_test_backend(GetParam());
  for (const Exercise& e : exercises()) {
    TrainBuffers buffers, other_buffers;
    const Result once = run_steps(*backend, e, 20, buffers);
    expect_same(once, run_steps(*backend, e, 20, buffers));
    expect_same(once, run_steps(*make_test_backend(GetParam()), e, 20, other_buffers));
  }
}

TEST_P(TrainStepTest, NothingVisibleChangesNothing) {
  Gaussians behind = random_cloud(500, 3, 83);
  for (Vec3f& m : behind.mean) m.z = -100;
  for (const Gaussians& g : {behind, make_gaussians(0, 3)}) {
    const Exercise e = exercise(g, looking_down_z(75, 50, 60));
    auto backend = make_test_backend(GetParam());
    TrainBuffers buffers;
    const Result step = run_steps(*backend, e, 2, buffers);
    EXPECT_TRUE(step.outcome.is_finite);
    EXPECT_GT(step.loss().total, 0);
    EXPECT_TRUE(same_bits(step.gaussians, g));
    EXPECT_TRUE(are_zero(step.moments));
    EXPECT_TRUE(same_bits(step.statistics, std::vector<Vec2f>(g.size(), Vec2f(0, 0))));
    expect_close(step, run_stages(*backend, e, 2), 1e-6);
    expect_same(step, run_steps(*backend, e, 2, buffers));
  }
}

class GradientsTest : public PerBackendTest {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GradientsTest);
INSTANTIATE_TEST_SUITE_P(, GradientsTest, testing::ValuesIn(backends_besides_cpu()),
                         [](const auto& name) { return name.param; });

// Rounding may put a splat on either side of the threshold for drawing it at a pixel. Pixels where two
// backends decided differently are rare and get no gradient; at all others the gradients agree as well.
std::vector<float> mask_of_agreement(const Rendering& a, const Rendering& b) {
  const auto color_a = a.frame.color.download(*a.backend), color_b = b.frame.color.download(*b.backend);
  const auto t_a = a.frame.transmittance.download(*a.backend);
  const auto t_b = b.frame.transmittance.download(*b.backend);
  const std::size_t n = t_a.size();
  std::vector<float> mask(n, 1.0f);
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < n; ++i) {
    float difference = std::abs(t_a[i] - t_b[i]);
    for (std::size_t c = 0; c < 3; ++c)
      difference = std::max(difference, std::abs(color_a[c * n + i] - color_b[c * n + i]));
    if (difference <= 1e-5f) continue;
    mask[i] = 0;
    ++left_out;
  }
  EXPECT_LE(static_cast<double>(left_out), 1e-3 * static_cast<double>(n));
  return mask;
}

void apply_mask(Device& device, const std::vector<float>& mask, DeviceArray<float>& planes) {
  std::vector<float> values = planes.download(device);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= mask[i % mask.size()];
  planes.upload(device, values);
}

Gaussians gradients_of(Rendering& run, const View& view, const std::vector<float>& mask) {
  FrameGradient dL_dframe = random_gradient(*run.backend, view);
  for (DeviceArray<float>* planes : {&dL_dframe.color, &dL_dframe.alpha, &dL_dframe.depth})
    apply_mask(*run.backend, mask, *planes);
  Gradients gradients;
  run.backward(view, std::move(dL_dframe), gradients);
  return download(*run.backend, gradients.sum.gaussians);
}

// The harmonic coefficients of degree 0, or all others.
std::vector<Vec3f> harmonics(const Gaussians& g, bool base) {
  std::vector<Vec3f> picked;
  for (std::size_t i = 0; i < g.sh.size(); ++i)
    if ((i % static_cast<std::size_t>(g.sh_count()) == 0) == base) picked.push_back(g.sh[i]);
  return picked;
}

TEST_P(GradientsTest, MatchTheCpu) {
  for (const std::uint64_t seed : {90, 91, 92})
    for (const bool antialiased : {false, true})
      for (const DepthOutput depth : {DepthOutput::kNone, DepthOutput::kExpected}) {
        const Gaussians g = random_cloud(4000, 3, seed);
        const View view{looking_down_z(245, 136, 150), {.depth = depth, .antialiased = antialiased}};
        Rendering run(GetParam(), g, view), cpu_run("cpu", g, view);
        const std::vector<float> mask = mask_of_agreement(run, cpu_run);
        const Gaussians ours = gradients_of(run, view, mask), cpus = gradients_of(cpu_run, view, mask);
        SCOPED_TRACE(testing::Message() << "seed " << seed << (antialiased ? ", antialiased" : "")
                                        << (depth == DepthOutput::kNone ? "" : ", with depth"));
        EXPECT_LE(relative_difference(ours.mean, cpus.mean), 1e-4);
        EXPECT_LE(relative_difference(ours.log_scale, cpus.log_scale), 1e-4);
        EXPECT_LE(relative_difference(ours.rotation, cpus.rotation), 1e-4);
        EXPECT_LE(relative_difference(ours.logit_opacity, cpus.logit_opacity), 1e-4);
        for (const bool base : {true, false})
          EXPECT_LE(relative_difference(harmonics(ours, base), harmonics(cpus, base)), 1e-4);
      }
}

}  // namespace
}  // namespace stipple
