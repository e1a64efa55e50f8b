// SPDX-License-Identifier: Apache-2.0
// The stages that only training uses: the optimiser, alone and fused with project_backward, the statistics
// and the noise of density control, and gather.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {
namespace {

class TrainingStagesTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, TrainingStagesTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

// A gradient sum with the given values.
GradientSum sum_of(Backend& backend, const Gaussians& gradients) {
  GradientSum sum;
  sum.gaussians = upload(backend, gradients);
  sum.is_empty = false;
  return sum;
}

TEST_P(TrainingStagesTest, OptimizeFollowsAdamInEveryGroup) {
  auto backend = make_test_backend(GetParam());
  for (std::size_t count : {1, 15, 16, 37}) {
    Gaussians g = random_cloud(count, 3, 40), start = g;
    TrainState state = make_train_state(*backend, g);
    AdamOptions o{.mean = 0.01f,
                  .log_scale = 0.02f,
                  .rotation = 0.03f,
                  .logit_opacity = 0.04f,
                  .sh_base = 0.05f,
                  .sh_rest = 0.06f};
    // The first two steps of each value, computed by the formula in double.
    auto expect_group = [&](const auto& before, const auto& after, const auto& d1, const auto& d2,
                            auto rate_at) {
      const float *x0 = floats(before), *x2 = floats(after), *g1 = floats(d1), *g2 = floats(d2);
      std::size_t n = before.size() * sizeof(before[0]) / sizeof(float), stride = n / count;
      for (std::size_t i = 0; i < n; ++i) {
        Math<double>::AdamParameter p{x0[i], 0, 0};
        double rate = rate_at(i % stride);
        p = Math<double>::adam(p, g1[i], {rate, 0.9, 0.999, 1e-15, 1 / (1 - 0.9), 1 / (1 - 0.999)});
        p = Math<double>::adam(p, g2[i], {rate, 0.9, 0.999, 1e-15, 1 / (1 - 0.81), 1 / (1 - 0.998001)});
        ASSERT_NEAR(x2[i], p.value, 2e-6 * (1 + std::abs(x0[i]))) << count << ' ' << i;
      }
    };
    Gaussians d1 = random_cloud(count, 3, 41), d2 = random_cloud(count, 3, 42);
    Pass pass;
    o.step = 1;
    backend->optimize(state, sum_of(*backend, d1), o, {}, pass);
    o.step = 2;
    backend->optimize(state, sum_of(*backend, d2), o, {}, pass);
    Gaussians end = download(*backend, state.gaussians);
    expect_group(start.mean, end.mean, d1.mean, d2.mean, [](std::size_t) { return 0.01; });
    expect_group(start.log_scale, end.log_scale, d1.log_scale, d2.log_scale,
                 [](std::size_t) { return 0.02; });
    expect_group(start.rotation, end.rotation, d1.rotation, d2.rotation, [](std::size_t) { return 0.03; });
    expect_group(start.logit_opacity, end.logit_opacity, d1.logit_opacity, d2.logit_opacity,
                 [](std::size_t) { return 0.04; });
    expect_group(start.sh, end.sh, d1.sh, d2.sh, [](std::size_t k) { return k < 3 ? 0.05 : 0.06; });
  }
}

TEST_P(TrainingStagesTest, OptimizeSkipsInvisibleGaussiansIfVisibleOnly) {
  Gaussians g = random_cloud(40, 1, 43, {.spread = 0.5f});
  for (std::size_t i = 0; i < g.size(); i += 3) g.mean[i].z = -100;  // behind the camera
  View view{looking_down_z(60, 45, 50), {}};
  Rendering run(GetParam(), g, view);
  auto splats = run.projection.splat.download(*run.backend);
  TrainState state = make_train_state(*run.backend, g);
  AdamOptions o{.mean = 1,
                .log_scale = 1,
                .rotation = 1,
                .logit_opacity = 1,
                .sh_base = 1,
                .sh_rest = 1,
                .visible_only = true};
  GradientSum sum = sum_of(*run.backend, random_cloud(40, 1, 44));
  std::vector<Vec2f> view_statistics;
  for (const ProjectedSplat& s : splats)
    view_statistics.push_back(s.splat.opacity > 0 ? Vec2f(1, 1) : Vec2f(0, 0));
  sum.view_statistics.upload(*run.backend, view_statistics);
  run.backend->optimize(state, sum, o, {}, run.pass);
  Gaussians end = download(*run.backend, state.gaussians),
            first = download(*run.backend, state.moments.first);
  EXPECT_TRUE(same_bits(state.statistics.download(*run.backend), view_statistics));
  int seen = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    bool visible = splats[i].splat.opacity > 0;
    seen += visible;
    EXPECT_EQ(end.mean[i] == g.mean[i], !visible);
    EXPECT_EQ(end.sh[4 * i + 3] == g.sh[4 * i + 3], !visible);
    EXPECT_EQ(first.logit_opacity[i] == 0, !visible);
  }
  EXPECT_GT(seen, 10);
  EXPECT_LT(seen, 40);
}

TEST_P(TrainingStagesTest, ProjectBackwardOptimizeEqualsTheTwoStages) {
  for (int degree : {0, 2, 3})
    for (bool visible_only : {false, true}) {
      Gaussians g = random_cloud(1003, degree, 45, {.spread = 2.0f});
      for (std::size_t i = 300; i < 400; ++i) g.mean[i].z = -100;  // whole groups of invisible Gaussians
      View view{looking_down_z(60, 45, 50), {.antialiased = true}};
      Rendering run(GetParam(), g, view);
      Backend& backend = *run.backend;
      TrainState apart = make_train_state(backend, g), fused = make_train_state(backend, g);
      AdamOptions o{.mean = 0.01f,
                    .log_scale = 0.02f,
                    .rotation = 0.03f,
                    .logit_opacity = 0.04f,
                    .sh_base = 0.05f,
                    .sh_rest = 0.06f,
                    .visible_only = visible_only};
      const LossOptions penalties{.opacity_penalty = 0.1f, .scale_penalty = 0.1f};
      const WantedGradients wanted{.view_statistics = true, .lifts_clamped_colors = visible_only};
      for (o.step = 1; o.step <= 2; ++o.step) {
        forward(backend, apart.gaussians, {}, view, run.pass);
        run.blend_backward(view, random_gradient(backend, view), wanted);
        GradientSum sum;
        backend.project_backward(apart.gaussians, {}, view, wanted, run.pass, sum);
        backend.optimize(apart, sum, o, penalties, run.pass);
        backend.project_backward_optimize(fused, view, wanted, o, penalties, run.pass);
      }
      auto same = [&](const DeviceGaussians& a, const DeviceGaussians& b) {
        Gaussians of_apart = download(backend, a), of_fused = download(backend, b);
        for_each_parameter([](int, const auto& x, const auto& y) { EXPECT_TRUE(same_bits(x, y)); }, of_apart,
                           of_fused);
      };
      same(apart.gaussians, fused.gaussians);
      same(apart.moments.first, fused.moments.first);
      same(apart.moments.second, fused.moments.second);
      EXPECT_TRUE(same_bits(apart.statistics.download(backend), fused.statistics.download(backend)));
    }
}

// A channel that is clamped at 0 gets the gradient only on request, and only if descent raises the channel.
TEST_P(TrainingStagesTest, ClampedColorsGetTheGradientThatLiftsThem) {
  Gaussians g = random_cloud(200, 0, 51, {.spread = 0.5f});
  for (std::size_t i = 0; i < g.size(); i += 2) g.sh[i] = {-5, 0, -5};  // red and blue are clamped
  const View view{looking_down_z(60, 40, 50), {}};
  Rendering run(GetParam(), g, view);
  run.blend_backward(view, random_gradient(*run.backend, view, false));
  const std::vector<Splat> dL = run.pass.dL_dsplat.splat.download(*run.backend);
  std::size_t lifted_count = 0, held_count = 0;
  for (const bool lifts : {false, true}) {
    GradientSum sum;
    run.backend->project_backward(run.gaussians, {}, view, {.lifts_clamped_colors = lifts}, run.pass, sum);
    const std::vector<Vec3f> sh = sum.gaussians.sh.download(*run.backend);
    for (std::size_t i = 0; i < g.size(); i += 2)
      for (int c = 0; c < 3; ++c) {
        const Vec4f channels = dL[i].channels;
        const float d = c == 0 ? channels.x : c == 1 ? channels.y : channels.z;
        const float passed = c == 1 ? d : lifts ? std::min(d, 0.0f) : 0.0f;
        EXPECT_NEAR(sh[i][c], passed * Math<float>::sh_0, 1e-6f * (1 + std::abs(d))) << i << ' ' << c;
        lifted_count += lifts && c != 1 && d < 0;
        held_count += lifts && c != 1 && d > 0;
      }
  }
  EXPECT_GT(lifted_count, 20u);
  EXPECT_GT(held_count, 20u);
}

TEST_P(TrainingStagesTest, ViewStatisticsSumTheGradientsOfVisibleGaussians) {
  Gaussians g = random_cloud(50, 0, 48, {.spread = 0.5f});
  g.mean[7].z = -100;  // invisible
  View view{looking_down_z(60, 40, 50), {}};
  Rendering run(GetParam(), g, view);
  run.blend_backward(view, random_gradient(*run.backend, view, false));
  GradientSum sum;
  for (int i = 0; i < 2; ++i)
    run.backend->project_backward(run.gaussians, {}, view, {.view_statistics = true}, run.pass, sum);
  const std::vector<Splat> gradients = run.pass.dL_dsplat.splat.download(*run.backend);
  const std::vector<Vec2f> sums = sum.view_statistics.download(*run.backend);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const Vec2f d = gradients[i].mean_px;
    EXPECT_NEAR(sums[i].x, 2 * std::hypot(30 * d.x, 20 * d.y), 1e-4f * (1 + sums[i].x));
    EXPECT_EQ(sums[i].y, i == 7 ? 0 : 2);
  }
}

// blend_backward detects a gradient that is not finite, and the stages after it change nothing.
TEST_P(TrainingStagesTest, ANonFiniteGradientStopsTheUpdate) {
  const Gaussians g = random_cloud(50, 1, 48, {.spread = 0.5f});
  const View view{looking_down_z(60, 40, 50), {}};
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
    for (const bool fused : {false, true}) {
      Rendering run(GetParam(), g, view);
      TrainState state = make_train_state(*run.backend, g);
      FrameGradient dL = random_gradient(*run.backend, view, false);
      std::vector<float> color = dL.color.download(*run.backend);
      color[20 * 60 + 30] = bad;  // the middle of the image
      dL.color.upload(*run.backend, color);
      run.blend_backward(view, std::move(dL), {.view_statistics = true});
      if (fused) {
        run.backend->project_backward_optimize(state, view, {.view_statistics = true}, kTestRates, {},
                                               run.pass);
      } else {
        GradientSum sum;
        run.backend->project_backward(state.gaussians, {}, view, {.view_statistics = true}, run.pass, sum);
        run.backend->optimize(state, sum, kTestRates, {}, run.pass);
      }
      run.backend->perturb(state.gaussians, 1, 7, run.pass);
      EXPECT_FALSE(run.backend->read(run.pass).is_finite);
      EXPECT_TRUE(same_bits(download(*run.backend, state.gaussians), g));
      EXPECT_TRUE(same_bits(download(*run.backend, state.moments.first), make_gaussians(50, 1)));
      EXPECT_TRUE(same_bits(state.statistics.download(*run.backend), std::vector<Vec2f>(50, Vec2f(0, 0))));
    }
}

TEST_P(TrainingStagesTest, PerturbMovesFaintGaussiansByTheirCovariance) {
  auto backend = make_test_backend(GetParam());
  const std::size_t count = 4000;
  Gaussians g = make_gaussians(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    g.log_scale[i] = {0, std::log(2.0f), std::log(0.5f)};
    g.rotation[i] = {1, 0, 0, 0};
    g.logit_opacity[i] = i % 2 == 0 ? -20.0f : 2.0f;
  }
  DeviceGaussians device = upload(*backend, g);
  Pass pass;
  backend->perturb(device, 0.1f, 5, pass);
  const std::vector<Vec3f> moved = device.mean.download(*backend);
  Vec3<double> squares(0, 0, 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 2 == 1) {
      EXPECT_EQ(moved[i], g.mean[i]);
    }
    for (int k = 0; k < 3; ++k)
      squares[k] += static_cast<double>(moved[i][k]) * static_cast<double>(moved[i][k]);
  }
  // At opacity 0 the noise factor is sigmoid(0.5). The covariance is diagonal, with entries 1, 4 and 1/4.
  const double a = 0.1 / (1 + std::exp(-0.5)), f = a / (1 + 2 * a);
  for (int k = 0; k < 3; ++k)
    EXPECT_NEAR(std::sqrt(squares[k] / (count / 2)) / f,
                (k == 0   ? 1
                 : k == 1 ? 4
                          : 0.25),
                k == 1 ? 0.25 : 0.06);
  DeviceGaussians again = upload(*backend, g);
  backend->perturb(again, 0.1f, 5, pass);
  EXPECT_TRUE(same_bits(moved, again.mean.download(*backend)));
  backend->perturb(again, 0.1f, 6, pass);
  EXPECT_FALSE(same_bits(moved, again.mean.download(*backend)));
}

TEST_P(TrainingStagesTest, GatherGivesZeroForNoRow) {
  auto backend = make_test_backend(GetParam());
  DeviceGaussians g = upload(*backend, random_cloud(5, 1, 49));
  DeviceArray<std::uint32_t> rows(*backend, std::vector<std::uint32_t>{4, Backend::kNoRow, 0});
  const Gaussians from = download(*backend, g), to = download(*backend, gather(*backend, g, rows));
  EXPECT_EQ(to.mean[0], from.mean[4]);
  EXPECT_EQ(to.mean[1], Vec3f(0, 0, 0));
  EXPECT_EQ(to.sh[4 * 1 + 2], Vec3f(0, 0, 0));
  EXPECT_EQ(to.sh[4 * 2 + 2], from.sh[2]);
}

// With no other gradient, Adam's first moments are those of the penalties' gradient. A gradient that is not
// finite counts as zero.
TEST_P(TrainingStagesTest, OptimizeAddsPenaltiesAndIgnoresNonFiniteGradients) {
  auto backend = make_test_backend(GetParam());
  const Gaussians g = random_cloud(37, 0, 50);
  TrainState state = make_train_state(*backend, g);
  Gaussians dL = make_gaussians(37, 0);
  dL.mean[5].y = std::numeric_limits<float>::infinity();
  dL.mean[6].y = std::numeric_limits<float>::quiet_NaN();
  const AdamOptions o{.mean = 0.1f, .log_scale = 0.1f, .logit_opacity = 0.1f};
  Pass pass;
  backend->optimize(state, sum_of(*backend, dL), o, {.opacity_penalty = 0.5f, .scale_penalty = 0.25f}, pass);
  const Gaussians first = download(*backend, state.moments.first),
                  after = download(*backend, state.gaussians);
  EXPECT_EQ(after.mean, g.mean);
  for (std::size_t i = 0; i < 37; ++i) {
    const double s = 1 / (1 + std::exp(-static_cast<double>(g.logit_opacity[i])));
    EXPECT_NEAR(first.logit_opacity[i], 0.1 * 0.5 * s * (1 - s) / 37, 1e-8);
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(first.log_scale[i][k],
                  0.1 * 0.25 * std::exp(static_cast<double>(g.log_scale[i][k])) / (3 * 37), 1e-8);
  }
}

TEST_P(TrainingStagesTest, GatherRepeatsDropsAndReordersRows) {
  auto backend = make_test_backend(GetParam());
  Gaussians g = random_cloud(100, 2, 70);
  DeviceGaussians device = upload(*backend, g);
  std::vector<std::uint32_t> rows = {99, 0, 0, 57, 3};
  Gaussians picked = download(*backend, gather(*backend, device, DeviceArray<std::uint32_t>(*backend, rows)));
  ASSERT_EQ(picked.size(), 5u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(picked.mean[i], g.mean[rows[i]]);
    EXPECT_EQ(picked.rotation[i], g.rotation[rows[i]]);
    EXPECT_EQ(picked.logit_opacity[i], g.logit_opacity[rows[i]]);
    for (int k = 0; k < 9; ++k) EXPECT_EQ(picked.sh[9 * i + k], g.sh[9 * rows[i] + k]);
  }
  std::vector<std::uint32_t> none;
  EXPECT_EQ(gather(*backend, device, DeviceArray<std::uint32_t>(*backend, none)).size(), 0u);
}

}  // namespace
}  // namespace stipple
