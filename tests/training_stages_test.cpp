// SPDX-License-Identifier: Apache-2.0
// The stages that only training uses: the optimiser, alone and fused with project_backward, the statistics
// and the noise of density control, and gather.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/moments.h"

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

constexpr AdamOptions kGroupRates{.mean = 0.01f,
                                  .log_scale = 0.02f,
                                  .rotation = 0.03f,
                                  .logit_opacity = 0.04f,
                                  .sh_base = 0.05f,
                                  .sh_rest = 0.06f};

// Calls f(words, place, rate, key, floats of each argument...) for every array of moments.
template <class F, class... Parameters>
void for_each_group(F f, HostMoments& moments, int step, Parameters&... of) {
  const AdamOptions o = kGroupRates;
  const float rates[] = {o.mean, o.log_scale, o.rotation, o.logit_opacity, o.sh_base, o.sh_rest};
  const MomentKeys all = moment_keys(step, {}, moments.sh_degree);
  const std::uint32_t keys[] = {all.mean,          all.log_scale, all.rotation,
                                all.logit_opacity, all.sh_base,   all.sh_rest};
  int group = 0;
  for_each_moment_of(
      [&](auto& words, auto place, auto*... floats) {
        f(words, place, rates[group], keys[group], floats...);
        ++group;
      },
      moments, of...);
}

// Where exact Adam, in double, can go from stored moments that are up to a place of the format away from the
// exact ones.
struct Reach {
  double low = 1e9, high = -1e9;
};
Reach reach_of_second_step(float start, float g1, float g2, float any_rate, bool is_wide) {
  using D = Math<double>;
  const double rate = any_rate;
  const D::AdamParameter one =
      D::adam({start, 0, 0}, g1, {rate, 0.9, 0.999, 1e-15, 1 / (1 - 0.9), 1 / (1 - 0.999)});
  const double size = std::abs(one.first_moment);
  const double first_error =
      is_wide ? 0x1p-7 * size : 0.25 * size + std::sqrt(1.125 * one.second_moment) / 64;
  const double second_error = (is_wide ? 0x1p-7 : 0.125) * one.second_moment;
  Reach reach;
  for (const double m : {-1, 1})
    for (const double v : {-1, 1}) {
      const D::AdamParameter two =
          D::adam({one.value, one.first_moment + m * first_error, one.second_moment + v * second_error}, g2,
                  {rate, 0.9, 0.999, 1e-15, 1 / (1 - 0.81), 1 / (1 - 0.998001)});
      reach.low = std::min(reach.low, two.value);
      reach.high = std::max(reach.high, two.value);
    }
  return reach;
}

// The first step does not depend on how moments are stored.
TEST_P(TrainingStagesTest, OptimizeFollowsAdamInEveryGroup) {
  auto backend = make_test_backend(GetParam());
  for (const int degree : {0, 1, 2, 3})
    for (const std::size_t count : {1, 15, 16, 37}) {
      Gaussians start = random_cloud(count, degree, 40), d1 = random_cloud(count, degree, 41),
                d2 = random_cloud(count, degree, 42);
      TrainState state = make_train_state(*backend, start);
      AdamOptions o = kGroupRates;
      Pass pass;
      o.step = 1;
      backend->optimize(state, sum_of(*backend, d1), o, {}, pass);
      Gaussians middle = download(*backend, state.gaussians);
      o.step = 2;
      backend->optimize(state, sum_of(*backend, d2), o, {}, pass);
      Gaussians end = download(*backend, state.gaussians);
      HostMoments moments = download(*backend, state.moments);
      const auto expect_group = [&](auto& words, auto place, float rate, std::uint32_t, const float* x0,
                                    const float* x1, const float* x2, const float* g1, const float* g2) {
        for (std::size_t i = 0; i < words.size(); ++i) {
          const std::size_t at = place(i);
          const double rounding = 2e-6 * (1 + std::abs(static_cast<double>(x0[at])));
          const float step = g1[at] > 0 ? -rate : g1[at] < 0 ? rate : 0;
          ASSERT_NEAR(x1[at], x0[at] + step, rounding) << count << ' ' << i;
          const Reach reach = reach_of_second_step(x0[at], g1[at], g2[at], rate, sizeof(words[i]) == 4);
          ASSERT_GE(x2[at], reach.low - rounding) << count << ' ' << i;
          ASSERT_LE(x2[at], reach.high + rounding) << count << ' ' << i;
        }
      };
      for_each_group(expect_group, moments, 2, start, middle, end, d1, d2);
    }
}

// The moments are those of the shared maths. Where a backend's arithmetic is one unit in the last place off,
// the random bits can decide otherwise, which happens to one value in many thousand.
TEST_P(TrainingStagesTest, OptimizeStoresMomentsAsTheMathsSays) {
  auto backend = make_test_backend(GetParam());
  for (const int degree : {0, 1, 2, 3}) {
    const std::size_t count = 333;
    Gaussians ours = random_cloud(count, degree, 43);
    TrainState state = make_train_state(*backend, ours);
    HostMoments words = download(*backend, state.moments);
    AdamOptions o = kGroupRates;
    Pass pass;
    for (o.step = 1; o.step <= 4; ++o.step) {
      Gaussians gradient = random_cloud(count, degree, static_cast<std::uint64_t>(50 + o.step));
      backend->optimize(state, sum_of(*backend, gradient), o, {}, pass);
      Math<float>::AdamRule rule = adam_rule(o);
      for_each_group(
          [&](auto& array, auto place, float rate, std::uint32_t key, float* value, const float* g) {
            rule.rate = rate;
            for (std::size_t i = 0; i < array.size(); ++i) {
              const std::size_t at = place(i);
              const auto p = Math<float>::adam(unpacked(value[at], array[i]), g[at], rule);
              value[at] = p.value;
              pack(p, Math<float>::rounding_bits(key, static_cast<std::uint32_t>(i)), array[i]);
            }
          },
          words, o.step, ours, gradient);
    }
    std::size_t all = 0, different = 0;
    const HostMoments theirs = download(*backend, state.moments);
    for_each_moment(
        [&](int, const auto& a, const auto& b) {
          ASSERT_EQ(a.size(), b.size());
          for (std::size_t i = 0; i < a.size(); ++i) different += a[i] != b[i];
          all += a.size();
        },
        words, theirs);
    EXPECT_LE(static_cast<double>(different), 1e-3 * static_cast<double>(all)) << degree;
    Gaussians end = download(*backend, state.gaussians);
    for_each_parameter([](int, const auto& a, const auto& b) { EXPECT_LE(relative_difference(a, b), 1e-4); },
                       end, ours);
  }
}

TEST_P(TrainingStagesTest, OptimizeSkipsInvisibleGaussiansIfVisibleOnly) {
  Gaussians g = random_cloud(40, 1, 43, {.spread = 0.5f});
  for (std::size_t i = 0; i < g.size(); i += 3) g.mean[i].z = -100;  // behind the camera
  View view{looking_down_z(60, 45, 50), {}};
  Rendering run(GetParam(), g, view);
  auto splats = run.splats();
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
  const Gaussians end = download(*run.backend, state.gaussians);
  const HostMoments moments = download(*run.backend, state.moments);
  EXPECT_TRUE(same_bits(state.statistics.download(*run.backend), view_statistics));
  int seen = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    bool visible = splats[i].splat.opacity > 0;
    seen += visible;
    EXPECT_EQ(end.mean[i] == g.mean[i], !visible);
    EXPECT_EQ(end.sh[4 * i + 3] == g.sh[4 * i + 3], !visible);
    EXPECT_EQ(moments.logit_opacity[i] == 0, !visible);
    for (std::size_t k = 0; k < 9; ++k) EXPECT_EQ(moments.sh_rest[9 * i + k] == 0, !visible);
  }
  EXPECT_GT(seen, 10);
  EXPECT_LT(seen, 40);

  // Or of invisible ones only the harmonics.
  TrainState other = make_train_state(*run.backend, g), all = make_train_state(*run.backend, g);
  o.visible_only = false;
  run.backend->optimize(all, sum, o, {}, run.pass);
  o.visible_harmonics_only = true;
  run.backend->optimize(other, sum, o, {}, run.pass);
  Gaussians expected = download(*run.backend, all.gaussians);
  expected.sh = end.sh;
  EXPECT_TRUE(same_bits(expected, download(*run.backend, other.gaussians)));
  HostMoments expected_moments = download(*run.backend, all.moments);
  expected_moments.sh_base = moments.sh_base;
  expected_moments.sh_rest = moments.sh_rest;
  EXPECT_TRUE(same_bits(expected_moments, download(*run.backend, other.moments)));
}

enum class Updated { kAll, kVisible, kAllButInvisibleHarmonics };

TEST_P(TrainingStagesTest, ProjectBackwardOptimizeEqualsTheTwoStages) {
  for (int degree : {0, 2, 3})
    for (const Updated updated : {Updated::kAll, Updated::kVisible, Updated::kAllButInvisibleHarmonics}) {
      const bool visible_only = updated == Updated::kVisible;
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
                    .visible_only = visible_only,
                    .visible_harmonics_only = updated == Updated::kAllButInvisibleHarmonics};
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
      EXPECT_TRUE(same_bits(backend, apart.moments, fused.moments));
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
  const std::vector<Splat> dL = run.splat_gradients();
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
  const std::vector<Splat> gradients = run.splat_gradients();
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
      run.backend->perturb(state, 1, 7, run.pass);
      EXPECT_FALSE(run.backend->read(run.pass).is_finite);
      EXPECT_TRUE(same_bits(download(*run.backend, state.gaussians), g));
      EXPECT_TRUE(are_zero(download(*run.backend, state.moments)));
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
  TrainState state = make_train_state(*backend, g);
  Pass pass;
  backend->perturb(state, 0.1f, 5, pass);
  const std::vector<Vec3f> moved = state.gaussians.mean.download(*backend);
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
  TrainState again = make_train_state(*backend, g);
  backend->perturb(again, 0.1f, 5, pass);
  EXPECT_TRUE(same_bits(moved, again.gaussians.mean.download(*backend)));
  backend->perturb(again, 0.1f, 6, pass);
  EXPECT_FALSE(same_bits(moved, again.gaussians.mean.download(*backend)));
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

// Rows of an odd number of them begin in the middle of a word, as those of the moments do.
TEST_P(TrainingStagesTest, GatherTakesRowsOfHalfWords) {
  auto backend = make_test_backend(GetParam());
  const std::vector<std::uint32_t> rows = {6, Backend::kNoRow, 0, 3, 3, 5, 1};
  for (const std::size_t width : {1, 3, 9, 24, 45}) {
    std::vector<std::uint16_t> from(7 * width), expected(rows.size() * width);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint16_t>(40000 + i);
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = rows[i / width] == Backend::kNoRow ? 0 : from[rows[i / width] * width + i % width];
    DeviceArray<std::uint16_t> source(*backend, from), to;
    to.resize(*backend, expected.size());
    backend->gather(*source.memory(), DeviceArray<std::uint32_t>(*backend, rows), 2 * width, *to.memory());
    EXPECT_EQ(to.download(*backend), expected) << width;
  }
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
  const Gaussians first = decoded(*backend, state.moments).first, after = download(*backend, state.gaussians);
  EXPECT_EQ(after.mean, g.mean);
  for (std::size_t i = 0; i < 37; ++i) {
    const double s = 1 / (1 + std::exp(-static_cast<double>(g.logit_opacity[i])));
    const auto expect_moment = [](float stored, double exact) {  // rounded to 7 bits of mantissa
      EXPECT_NEAR(stored, exact, 1e-8 + 0x1p-7 * exact);
    };
    expect_moment(first.logit_opacity[i], 0.1 * 0.5 * s * (1 - s) / 37);
    for (int k = 0; k < 3; ++k)
      expect_moment(first.log_scale[i][k],
                    0.1 * 0.25 * std::exp(static_cast<double>(g.log_scale[i][k])) / (3 * 37));
  }
}

// Columns of rows, in both directions, and rows in order; with words of 16, of 4 and of 2 bytes.
TEST_P(TrainingStagesTest, CopyRowsMovesPartsOfRows) {
  struct Case {
    std::size_t from, from_first, to, to_first, halves;
  };
  auto backend = make_test_backend(GetParam());
  constexpr std::size_t kRows = 300;
  std::vector<std::uint32_t> which(201);
  for (std::size_t i = 0; i < which.size(); ++i)
    which[i] = i % 17 == 3 ? Backend::kNoRow : static_cast<std::uint32_t>(i * 7 % 150);
  const DeviceArray<std::uint32_t> rows(*backend, which);
  for (const Case c :
       {Case{24, 16, 16, 8, 8}, Case{24, 16, 16, 8, 6}, Case{45, 5, 33, 3, 7}, Case{9, 0, 24, 0, 9}})
    for (const bool has_rows : {true, false}) {
      std::vector<std::uint16_t> values(kRows * c.from), before(kRows * c.to, 9);
      std::iota(values.begin(), values.end(), std::uint16_t{100});
      const DeviceArray<std::uint16_t> from(*backend, values);
      DeviceArray<std::uint16_t> to(*backend, before);
      backend->copy_rows(*from.memory(), {c.from, 64, c.from_first}, has_rows ? &rows : nullptr, *to.memory(),
                         {c.to, 64, c.to_first}, which.size(), c.halves);
      std::vector<std::uint16_t> expected = before;
      for (std::size_t i = 0; i < which.size(); ++i)
        for (std::size_t k = 0; k < c.halves; ++k) {
          const std::size_t row = 64 + (has_rows ? which[i] : i);
          expected[(64 + i) * c.to + c.to_first + k] = has_rows && which[i] == Backend::kNoRow
                                                           ? std::uint16_t{0}
                                                           : values[row * c.from + c.from_first + k];
        }
      EXPECT_EQ(to.download(*backend), expected) << c.halves << has_rows;
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
