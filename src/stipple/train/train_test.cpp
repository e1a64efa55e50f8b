// SPDX-License-Identifier: Apache-2.0
// The parts of training one by one: schedules, initial Gaussians, density control.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/core/curve_order.h"
#include "stipple/core/parallel.h"
#include "stipple/train/density/adc.h"
#include "stipple/train/density/mcmc.h"
#include "stipple/train/initialize.h"
#include "stipple/train/schedule.h"

namespace stipple {
namespace {

using M = Math<float>;
constexpr std::uint32_t kNone = Backend::kNoRow;

TEST(Schedule, OpacityResetsAndPruningOfLargeGaussiansAreOffByDefault) {
  TrainOptions o = default_train_options(Strategy::kAdc);
  EXPECT_FALSE(Schedule(o, 1.0f).resets_opacity_at(3'000));
  EXPECT_FALSE(Schedule(o, 1.0f).prunes_large_at(3'100));
  o.reset_every = 3'000;
  EXPECT_TRUE(Schedule(o, 1.0f).resets_opacity_at(3'000));
  EXPECT_FALSE(Schedule(o, 1.0f).resets_opacity_at(15'000));
  EXPECT_FALSE(Schedule(o, 1.0f).prunes_large_at(3'100));
  o.prune_scale = 0.1f;
  EXPECT_FALSE(Schedule(o, 1.0f).prunes_large_at(3'000));
  EXPECT_TRUE(Schedule(o, 1.0f).prunes_large_at(3'100));
}

TEST(Schedule, EachStrategyHasItsDefaults) {
  const TrainOptions adc = default_train_options(Strategy::kAdc);
  EXPECT_FLOAT_EQ(adc.prune_opacity, 0.05f);
  EXPECT_FLOAT_EQ(adc.start_opacity, 0.1f);
  EXPECT_FLOAT_EQ(adc.grow_gradient, 8e-4f);
  EXPECT_FLOAT_EQ(default_train_options(Strategy::kAdc, false).grow_gradient, 2e-4f);
  const TrainOptions mcmc;  // the default strategy
  EXPECT_EQ(mcmc.strategy, Strategy::kMcmc);
  EXPECT_FLOAT_EQ(mcmc.prune_opacity, 0.005f);
  EXPECT_FLOAT_EQ(mcmc.grow_gradient, default_train_options(Strategy::kMcmc).grow_gradient);
  EXPECT_FLOAT_EQ(default_train_options(Strategy::kMcmc, false).grow_gradient, 2e-4f);
}

TEST(Schedule, TheThresholdForGrowthRisesAndTheNoiseFalls) {
  const TrainOptions o;
  const Schedule s(o, 2.0f);
  EXPECT_NEAR(s.grow_gradient(0), 0.3f * o.grow_gradient, 1e-8f);
  EXPECT_FLOAT_EQ(s.grow_gradient(7'500), o.grow_gradient);
  EXPECT_FLOAT_EQ(s.grow_gradient(30'000), o.grow_gradient);
  EXPECT_NEAR(s.noise(0), o.noise / 2, 1e-3f * o.noise);  // an inverse length
  EXPECT_NEAR(s.noise(30'000), o.noise / 200, 1e-5f * o.noise);
}

TEST(Schedule, TheGuardChecksOftenAndGivesItsViewsBackLate) {
  TrainOptions o;
  EXPECT_TRUE(Schedule(o, 1).checks_at(500));
  EXPECT_FALSE(Schedule(o, 1).checks_at(600));
  EXPECT_EQ(Schedule(o, 1).gives_views_back_at(), 24'000);
  EXPECT_TRUE(Schedule(o, 1).grows_after(14'999));
  EXPECT_FALSE(Schedule(o, 1).grows_after(15'000));
  o.steps = 300;
  EXPECT_TRUE(Schedule(o, 1).checks_at(100));
  EXPECT_FALSE(Schedule(o, 1).checks_at(50));
  o = default_train_options(Strategy::kAdc);
  o.reset_every = 3'000;  // just after a reset, a score says nothing
  EXPECT_TRUE(Schedule(o, 1).checks_at(2'500));
  EXPECT_FALSE(Schedule(o, 1).checks_at(3'500));
  EXPECT_TRUE(Schedule(o, 1).checks_at(5'500));
}

TEST(Schedule, HasTheUsualStepsAndLearningRates) {
  const TrainOptions o;
  const Schedule s(o, 2.0f);
  EXPECT_EQ(s.last_step(), 30'000);
  EXPECT_FALSE(s.refines_at(500));
  EXPECT_TRUE(s.refines_at(600));
  EXPECT_FALSE(s.refines_at(650));
  EXPECT_TRUE(s.refines_at(14'900));
  EXPECT_FALSE(s.refines_at(15'000));
  EXPECT_TRUE(s.sorts_at(600));
  EXPECT_FALSE(s.sorts_at(700));
  EXPECT_TRUE(s.sorts_at(1'600));
  EXPECT_FALSE(s.sorts_at(15'600));  // density control has ended
  EXPECT_EQ(s.sh_degree_at(999), 0);
  EXPECT_EQ(s.sh_degree_at(1'000), 1);
  EXPECT_EQ(s.sh_degree_at(30'000), 3);
  EXPECT_NEAR(s.mean_rate(0), 2 * 1.6e-4, 1e-9);
  EXPECT_NEAR(s.mean_rate(15'000), 2 * 1.6e-5, 1e-9);
  EXPECT_NEAR(s.mean_rate(30'000), 2 * 1.6e-6, 1e-11);
  const AdamOptions a = s.rates(1, 1);
  EXPECT_FLOAT_EQ(a.log_scale, 5e-3f);
  EXPECT_FLOAT_EQ(a.rotation, 1e-3f);
  EXPECT_FLOAT_EQ(a.logit_opacity, 2.5e-2f);
  EXPECT_FLOAT_EQ(a.sh_base, 2.5e-3f);
  EXPECT_FLOAT_EQ(a.sh_rest, 1.25e-4f);
  EXPECT_TRUE(s.splits_at(1'500));
  EXPECT_FALSE(s.splits_at(1'600));
  EXPECT_FLOAT_EQ(s.rate_factor(24'000), 1);
  EXPECT_NEAR(s.rate_factor(27'000), std::sqrt(0.1f), 1e-6f);
  EXPECT_NEAR(s.rate_factor(30'000), 0.1f, 1e-6f);
}

TEST(Schedule, TheWeightOfDepthsFallsAndOnlyEveryFewStepsHaveIt) {
  TrainOptions o;
  EXPECT_EQ(Schedule(o, 1).depth_weight(5), 0);  // off by default
  o.depth_weight = 0.5f;
  o.depth_decay = 0.01f;
  o.depth_every = 4;
  const Schedule s(o, 1);
  EXPECT_NEAR(s.depth_weight(4), 4 * 0.5f, 0.01f);
  for (const int without : {1, 2, 3, 5, 29'999}) EXPECT_EQ(s.depth_weight(without), 0);
  EXPECT_NEAR(s.depth_weight(15'000), 4 * 0.05f, 1e-4f);
  EXPECT_NEAR(s.depth_weight(30'000), 4 * 0.005f, 1e-5f);
  o.depth_decay = 1;
  EXPECT_FLOAT_EQ(s.depth_weight(30'000), 4 * 0.5f);
}

TEST(Schedule, ScalesWithTheNumberOfSteps) {
  TrainOptions o = default_train_options(Strategy::kAdc);
  o.steps = 3'000;
  o.reset_every = 3'000;
  const Schedule s(o, 1.0f);
  EXPECT_TRUE(s.refines_at(100));
  EXPECT_FALSE(s.refines_at(50));
  EXPECT_FALSE(s.refines_at(110));  // the interval would be 10 steps, which is below the minimum
  EXPECT_FALSE(s.refines_at(1'500));
  EXPECT_TRUE(s.resets_opacity_at(300));
  EXPECT_EQ(s.sh_degree_at(100), 1);
  EXPECT_NEAR(s.mean_rate(3'000), 1.6e-6, 1e-11);
  o.stop_at = 700;
  EXPECT_EQ(Schedule(o, 1.0f).last_step(), 700);  // the schedules stay unchanged
}

TEST(Initialize, ScalesAreTheDistancesToTheNeighbours) {
  Points points;
  for (int i = 0; i < 4; ++i) {  // corners of a square of side 1
    points.position.push_back({static_cast<float>(i % 2), static_cast<float>(i / 2), 0});
    points.color.push_back({255, 128, 0});
  }
  const TrainOptions o;
  const Gaussians g = initial_gaussians(points, o);
  ASSERT_EQ(g.size(), 4u);
  EXPECT_NEAR(std::exp(g.log_scale[0].x), o.start_scale * std::sqrt((1.0f + 1.0f + 2.0f) / 3), 1e-5f);
  EXPECT_EQ(g.log_scale[0].x, g.log_scale[0].z);
  EXPECT_NEAR(M::sigmoid(g.logit_opacity[0]), o.start_opacity, 1e-6f);
  EXPECT_NEAR(g.sh[0].x * M::sh_0 + 0.5f, 1.0f, 1e-6f);
  EXPECT_EQ(g.sh_degree, 0);
  points.position.assign(4, Vec3f(1, 1, 1));  // all coincide
  EXPECT_NEAR(std::exp(initial_gaussians(points, o).log_scale[0].x), o.start_scale * std::sqrt(1e-7f), 1e-6f);
  TrainOptions capped;
  capped.max_gaussians = 2;
  EXPECT_EQ(initial_gaussians(points, capped).size(), 2u);
  points.position.resize(1);
  points.color.resize(1);
  EXPECT_TRUE(std::isfinite(initial_gaussians(points, {}).log_scale[0].x));
}

const TrainOptions kAdc = default_train_options(Strategy::kAdc);

// Builds the input of density control, one Gaussian at a time.
struct Crowd {
  DensityInput in;
  void add(float scale, float opacity, float gradient) {
    in.mean.push_back({static_cast<float>(in.mean.size()), 0, 0});
    in.log_scale.push_back(Vec3f(1, 1, 1) * std::log(scale));
    in.rotation.push_back({1, 0, 0, 0});
    in.logit_opacity.push_back(M::logit(opacity));
    in.statistics.push_back({gradient * 4, 4});
  }
};

TEST(Adc, ClonesSmallSplitsLargePrunesFaintAndHuge) {
  Crowd c;
  c.add(0.005f, 0.5f, 1e-3f);   // 0: cloned
  c.add(0.05f, 0.5f, 1e-3f);    // 1: split
  c.add(0.05f, 0.5f, 1e-5f);    // 2: stays
  c.add(0.005f, 0.02f, 1e-3f);  // 3: faint
  c.add(0.3f, 0.5f, 1e-5f);     // 4: huge
  c.in.statistics.push_back({0, 0});
  c.in.mean.push_back({9, 9, 9});  // 5: never seen, stays
  c.in.log_scale.push_back({-4, -4, -4});
  c.in.rotation.push_back({1, 0, 0, 0});
  c.in.logit_opacity.push_back(0);
  TrainOptions o = kAdc;
  o.prune_scale = 0.1f;
  Random random(1);
  DensityPlan plan = plan_adc(c.in, o, 1.0f, true, true, random);
  EXPECT_EQ(plan.source, (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 5}));
  EXPECT_EQ(plan.moment_source, (std::vector<std::uint32_t>{0, kNone, kNone, kNone, 2, 5}));
  EXPECT_EQ(plan.mean[0], plan.mean[1]);
  EXPECT_NE(plan.mean[2], plan.mean[3]);
  EXPECT_NEAR(std::exp(plan.log_scale[2].x), 0.05 / 1.6, 1e-6);
  EXPECT_EQ(plan.logit_opacity[2], 0);
  plan = plan_adc(c.in, o, 1.0f, false, true, random);  // early in a run, huge Gaussians stay
  EXPECT_EQ(plan.size(), 7u);
}

TEST(Adc, UnderACapTheLargestGradientsGrow) {
  Crowd c;
  for (int i = 0; i < 10; ++i) c.add(0.005f, 0.5f, 1e-3f * static_cast<float>(1 + (i * 7) % 10));
  TrainOptions o = kAdc;
  o.max_gaussians = 13;
  Random random(1);
  const DensityPlan plan = plan_adc(c.in, o, 1.0f, false, true, random);
  EXPECT_EQ(plan.size(), 13u);
  std::vector<int> times(10, 0);
  for (std::uint32_t s : plan.source) ++times[s];
  EXPECT_EQ(times[7], 2);  // gradients 10, 9 and 8
  EXPECT_EQ(times[4], 2);
  EXPECT_EQ(times[1], 2);
  o.max_gaussians = 5;  // already exceeded: nothing grows, and nothing is removed
  EXPECT_EQ(plan_adc(c.in, o, 1.0f, false, true, random).size(), 10u);
}

TEST(Adc, WithoutGrowthItOnlyPrunes) {
  Crowd c;
  for (int i = 0; i < 10; ++i) c.add(0.005f, i < 3 ? 0.02f : 0.5f, 1e-2f);
  Random random(1);
  EXPECT_EQ(plan_adc(c.in, kAdc, 1.0f, false, false, random).size(), 7u);
}

// n shares on top of each other look like the Gaussian that they replace: the opacity at the centre is equal,
// and so is the integral along a line.
TEST(Mcmc, SharesTogetherLookLikeTheOriginal) {
  for (float opacity : {0.05f, 0.3f, 0.7f, 0.95f})
    for (int n : {1, 2, 3, 7, 20}) {
      const Share share = share_of(opacity, n);
      EXPECT_NEAR(1 - std::pow(1 - static_cast<double>(share.opacity), n), opacity, 1e-5);
      double whole = 0, parts = 0;  // integrals of the blended opacity along a line through the centre
      for (double x = -8; x <= 8; x += 0.01) {
        whole += opacity * std::exp(-x * x / 2);
        const double y = x / static_cast<double>(share.scale_factor);
        parts += 1 - std::pow(1 - static_cast<double>(share.opacity) * std::exp(-y * y / 2), n);
      }
      EXPECT_NEAR(parts / whole, 1, 2e-3) << opacity << ' ' << n;
    }
}

// n slices along an axis have the variance and the integral of the Gaussian that they replace.
TEST(Mcmc, SlicesTogetherHaveTheShapeOfTheOriginal) {
  for (int n : {2, 3, 5}) {
    const Slice slice = slice_of(0.4f, n);
    double variance = std::pow(static_cast<double>(slice.scale_factor), 2);
    for (int k = 0; k < n; ++k)
      variance += std::pow((k - (n - 1) / 2.0) * static_cast<double>(slice.spacing), 2) / n;
    EXPECT_NEAR(variance, 1, 1e-5) << n;
    EXPECT_NEAR(slice.opacity * slice.scale_factor * static_cast<float>(n), 0.4f, 1e-5f) << n;
  }
}

TEST(Mcmc, SplitsAlongTheLongestAxisIfAsked) {
  Crowd c;
  for (int i = 0; i < 4; ++i) c.add(0.01f, 0.5f, i == 2 ? 1e-3f : 1e-4f);
  c.in.log_scale[2] = {std::log(0.01f), std::log(0.3f), std::log(0.02f)};
  c.in.rotation[2] = {std::sqrt(0.5f), 0, 0, std::sqrt(0.5f)};  // turns y to -x
  Random random(3);
  TrainOptions options;
  const DensityPlan plan = plan_mcmc(c.in, options, {5e-4f, true, true}, random);
  ASSERT_EQ(plan.source, (std::vector<std::uint32_t>{0, 1, 2, 2, 3}));
  const Slice slice = slice_of(0.5f, 2);
  const Vec3f between = plan.mean[3] - plan.mean[2], middle = (plan.mean[3] + plan.mean[2]) * 0.5f;
  EXPECT_NEAR(between.x, -0.3f * slice.spacing, 1e-6f);
  EXPECT_NEAR(std::hypot(between.y, between.z), 0, 1e-6f);
  EXPECT_NEAR(std::hypot(middle.x - c.in.mean[2].x, middle.y, middle.z), 0, 1e-6f);
  for (std::size_t i : {2u, 3u}) {
    EXPECT_FLOAT_EQ(plan.log_scale[i].x, std::log(0.01f));
    EXPECT_FLOAT_EQ(plan.log_scale[i].y, std::log(0.3f * slice.scale_factor));
    EXPECT_FLOAT_EQ(plan.log_scale[i].z, std::log(0.02f));
    EXPECT_NEAR(M::sigmoid(plan.logit_opacity[i]), slice.opacity, 1e-6f);
    EXPECT_EQ(plan.moment_source[i], kNone);
  }
}

// A faint Gaussian for every fifth, and a large gradient for every fourth of the others.
Crowd mixed_crowd() {
  Crowd c;
  for (int i = 0; i < 100; ++i) c.add(0.01f, i < 20 ? 0.001f : 0.5f, i % 4 == 0 ? 1e-3f : 1e-4f);
  return c;
}

std::size_t mcmc_count(const Crowd& c, const TrainOptions& o, float grow_gradient, bool may_grow = true) {
  Random random(3);
  return plan_mcmc(c.in, o, {grow_gradient, may_grow}, random).size();
}

TEST(Mcmc, GrowsByOneForEveryLargeGradientWithinTheLimits) {
  const Crowd c = mixed_crowd();
  TrainOptions o;
  EXPECT_EQ(mcmc_count(c, o, 5e-4f), 120u);  // 20 of those that are not faint have a large gradient
  EXPECT_EQ(mcmc_count(c, o, 5e-3f), 100u);
  EXPECT_EQ(mcmc_count(c, o, 5e-4f, false), 100u);
  o.growth = 1.05f;
  EXPECT_EQ(mcmc_count(c, o, 5e-4f), 105u);
  o.max_gaussians = 102;
  EXPECT_EQ(mcmc_count(c, o, 5e-4f), 102u);
  o.max_gaussians = 50;  // already exceeded: none is removed
  EXPECT_EQ(mcmc_count(c, o, 5e-4f), 100u);
}

TEST(Mcmc, RelocatesFaintGaussiansToThoseWithLargeGradients) {
  Crowd c = mixed_crowd();
  const TrainOptions o;
  Random random(3);
  DensityPlan plan = plan_mcmc(c.in, o, {5e-4f}, random);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    EXPECT_GE(plan.source[i], 20u);
    if (i > 0 && plan.source[i] == plan.source[i - 1]) {
      EXPECT_EQ(plan.source[i] % 4, 0u) << "drawn without a large gradient";
    }
    EXPECT_GE(M::sigmoid(plan.logit_opacity[i]), 0.0049f);
  }
  for (std::size_t i = 1; i < plan.size(); ++i) {  // shares of the same Gaussian are adjacent
    EXPECT_LE(plan.source[i - 1], plan.source[i]);
    const bool shares = plan.source[i - 1] == plan.source[i];
    EXPECT_EQ(plan.moment_source[i] == kNone,
              shares || (i + 1 < plan.size() && plan.source[i + 1] == plan.source[i]));
  }
  // If most are faint, one place with a large gradient does not get them all.
  Crowd few;
  for (int i = 0; i < 200; ++i) few.add(0.01f, i < 150 ? 0.001f : 0.5f, i == 199 ? 1e-3f : 1e-4f);
  plan = plan_mcmc(few.in, o, {5e-4f}, random);
  EXPECT_EQ(plan.size(), 201u);
  EXPECT_LT(std::count(plan.source.begin(), plan.source.end(), 199u), 20);
  // Without any large gradient, the faint ones still move, to any other.
  plan = plan_mcmc(c.in, o, {5e-3f}, random);
  EXPECT_EQ(plan.size(), 100u);
  for (const std::uint32_t source : plan.source) EXPECT_GE(source, 20u);
  for (float& v : c.in.logit_opacity) v = M::logit(0.001f);
  EXPECT_EQ(plan_mcmc(c.in, o, {5e-4f}, random).size(), 100u);  // nothing to copy from
}

// Many Gaussians, among them some for every case.
DensityInput random_crowd(std::size_t count) {
  Crowd c;
  Random random(5);
  for (std::size_t i = 0; i < count; ++i) {
    c.add(std::exp(random.uniform(-7, -1)), random.uniform(0.001f, 0.9f), random.uniform(0, 4e-4f));
    c.in.mean.back() = {random.uniform(), random.uniform(), random.uniform()};
  }
  return c.in;
}

// 60,000 Gaussians are several chunks of every loop.
TEST(DensityPlan, DoesNotDependOnTheNumberOfThreads) {
  const DensityInput in = random_crowd(60'000);
  TrainOptions capped = kAdc;
  capped.max_gaussians = 60'000;
  for (const auto& make : std::vector<std::function<DensityPlan(Random&)>>{
           [&](Random& random) { return plan_adc(in, kAdc, 1.0f, true, true, random); },
           [&](Random& random) { return plan_adc(in, capped, 1.0f, true, true, random); },
           [&](Random& random) { return plan_mcmc(in, {}, {2e-4f}, random); },
           [&](Random& random) {
             return plan_mcmc(in, {}, {2e-4f, true, true}, random);
           }}) {
    DensityPlan plans[2];
    Random random[2] = {Random(1), Random(1)};
    for (int k = 0; k < 2; ++k)
      with_threads(1 + 2 * k, [&] {
        plans[k] = make(random[k]);
        sort_along_curve(plans[k]);
      });
    EXPECT_GT(random[0].counter(), 0u);
    EXPECT_EQ(random[0].counter(), random[1].counter());
    EXPECT_EQ(plans[0].source, plans[1].source);
    EXPECT_EQ(plans[0].moment_source, plans[1].moment_source);
    EXPECT_EQ(plans[0].mean, plans[1].mean);
    EXPECT_EQ(plans[0].log_scale, plans[1].log_scale);
    EXPECT_EQ(plans[0].logit_opacity, plans[1].logit_opacity);
  }
}

TEST(CurveOrder, OrdersCoincidingPointsByIndexAndIgnoresOutliers) {
  EXPECT_TRUE(curve_order({}).empty());
  const std::vector<Vec3f> same(70'000, Vec3f(1, 2, 3));
  const std::vector<std::uint32_t> order = curve_order(same);
  for (std::uint32_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);  // ties by index
  std::vector<Vec3f> falling;
  for (int i = 0; i < 300; ++i) falling.push_back({static_cast<float>(-i), 0, 0});
  falling[10].x = 1e30f;  // an outlier must not put the others into one cell
  const std::vector<std::uint32_t> back = curve_order(falling);
  for (std::size_t i = 10; i < 290; ++i) EXPECT_LT(falling[back[i - 1]].x, falling[back[i]].x);
}

TEST(CurveOrder, TakesAnyCoordinates) {
  constexpr float kInf = std::numeric_limits<float>::infinity(),
                  kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kHuge = std::numeric_limits<float>::max();
  std::vector<Vec3f> points = {
      {kNan, kNan, kNan}, {kInf, 0, 0}, {-kInf, 0, 0}, {kHuge, 0, 0}, {-kHuge, 0, 0}};
  for (int round = 0; round < 2; ++round) {
    std::vector<std::uint32_t> order = curve_order(points);
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < points.size(); ++i) EXPECT_EQ(order[i], i);
    for (int i = 0; i < 300; ++i) points.push_back({static_cast<float>(-i), kNan, kInf});
  }
}

TEST(DensityPlan, SortingAlongTheCurveBringsNeighboursTogether) {
  const DensityInput in = random_crowd(4096);
  DensityPlan plan = plan_copies(in, std::vector<std::uint32_t>(in.mean.size(), 1), {});
  const auto length = [&] {  // of the path through all means in order
    double sum = 0;
    for (std::size_t i = 1; i < plan.size(); ++i) {
      const Vec3f d = plan.mean[i] - plan.mean[i - 1];
      sum += std::sqrt(dot(d, d));
    }
    return sum;
  };
  const double before = length();
  sort_along_curve(plan);
  EXPECT_LT(length(), 0.2 * before);
  for (std::size_t i = 0; i < plan.size(); ++i) EXPECT_EQ(plan.mean[i], in.mean[plan.source[i]]);
}

TEST(DensityPlan, IsCarriedOutOnTheDevice) {
  auto backend = make_backend("cpu");
  Gaussians host = make_gaussians(3, 1);
  for (std::size_t i = 0; i < 3; ++i) {
    host.mean[i] = Vec3f(1, 1, 1) * static_cast<float>(i);
    host.sh[4 * i + 3] = Vec3f(1, 2, 3) * static_cast<float>(i);
  }
  TrainState state;
  state.gaussians = upload(*backend, host);
  HostMoments moments;
  moments.sh_degree = 1;
  for_each_moment(
      [](int words, auto& array) {
        for (int i = 0; i < 3 * words; ++i)
          array.push_back(static_cast<std::uint16_t>(100 * i / words + i % words));
      },
      moments);
  state.moments = upload(*backend, moments);
  state.precomputed.filter_variance.upload(*backend, std::vector<float>{1, 2, 3});
  state.statistics.upload(*backend, std::vector<Vec2f>(3, Vec2f(1, 1)));
  const DensityInput in = download_density_input(*backend, state);
  DensityPlan plan = plan_copies(in, {0, 1, 1}, {});
  plan.moment_source[0] = kNone;
  plan.mean[0] = {7, 7, 7};
  carry_out(*backend, plan, state);
  EXPECT_EQ(state.precomputed.filter_variance.download(*backend), (std::vector<float>{2, 3}));
  const Gaussians after = download(*backend, state.gaussians);
  const HostMoments kept = download(*backend, state.moments);
  ASSERT_EQ(after.size(), 2u);
  EXPECT_EQ(after.mean[0], Vec3f(7, 7, 7));
  EXPECT_EQ(after.mean[1], Vec3f(2, 2, 2));
  EXPECT_EQ(after.sh[3], Vec3f(1, 2, 3));
  for_each_moment(
      [](int words, const auto& before, const auto& now) {
        const auto n = static_cast<std::size_t>(words);
        ASSERT_EQ(now.size(), 2 * n);
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_EQ(now[i], 0);
          EXPECT_EQ(now[n + i], before[2 * n + i]);
        }
      },
      moments, kept);
  EXPECT_EQ(state.statistics.download(*backend), std::vector<Vec2f>(2, Vec2f(0, 0)));
}

}  // namespace
}  // namespace stipple
