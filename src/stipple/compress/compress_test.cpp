// SPDX-License-Identifier: Apache-2.0
// The search for the best model within a goal, with a made-up format and a made-up measure of quality: what
// the right answer is can be computed.
#include "stipple/compress/compress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stipple/backend/render.h"
#include "stipple/compress/effect.h"
#include "stipple/compress/survey.h"
#include "stipple/core/error.h"
#include "stipple/edit/select.h"
#include "stipple/edit/sh_degree.h"
#include "stipple/edit/transform.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {
namespace {

constexpr std::size_t kCount = 1000;
constexpr std::uint64_t kHeadBytes = 200;

std::uint64_t bytes_of(std::size_t count, int degree) {
  return kHeadBytes + count * static_cast<std::uint64_t>(16 + 3 * ((degree + 1) * (degree + 1) - 1));
}

// Gaussian i has the opacity i + 1, which stands for its importance here.
Gaussians numbered_model() {
  Gaussians g = make_gaussians(kCount, 3);
  std::iota(g.logit_opacity.begin(), g.logit_opacity.end(), 1.0f);
  return g;
}

std::vector<std::uint32_t> most_opaque_first() {
  std::vector<std::uint32_t> order(kCount);
  std::iota(order.rbegin(), order.rend(), 0u);
  return order;
}

// 40 dB for the whole model: 20 dB for the opacities that are left, and so much for each degree. A tuned
// model, whose means are not zero, has another 2 dB.
double quality_of(const Gaussians& g, double per_degree) {
  const double sum = std::accumulate(g.logit_opacity.begin(), g.logit_opacity.end(), 0.0);
  const double tuned = g.size() > 0 && g.mean[0].x != 0 ? 2 : 0;
  return 40 + tuned - 20 * (1 - sum / (kCount * (kCount + 1) / 2.0)) - per_degree * (3 - g.sh_degree);
}

CompressTools tools(double per_degree, bool tunes = false) {
  CompressTools t;
  t.store = [](const Gaussians& g) { return CompressTools::Stored{bytes_of(g.size(), g.sh_degree), g}; };
  t.quality = [=](const Gaussians& g) { return quality_of(g, per_degree); };
  if (tunes)
    t.tune = [](Gaussians g) {
      for (Vec3f& mean : g.mean) mean.x = 1;
      return g;
    };
  return t;
}

Compressed run(const CompressGoal& goal, const CompressTools& t) {
  return compress(numbered_model(), most_opaque_first(), goal, t);
}

TEST(Compress, WhatFitsIsKeptWhole) {
  const Compressed c = run({.max_bytes = bytes_of(kCount, 3), .min_quality = {}}, tools(1));
  EXPECT_EQ(c.model.size(), kCount);
  EXPECT_EQ(c.model.sh_degree, 3);
  EXPECT_EQ(c.model.logit_opacity, numbered_model().logit_opacity);
  EXPECT_DOUBLE_EQ(c.quality, 40);
}

TEST(Compress, TheFileIsNearlyAsLargeAsAllowed) {
  for (const std::uint64_t max_bytes : {60'000, 30'000, 10'000, 1'000}) {
    const Compressed c = run({.max_bytes = max_bytes, .min_quality = {}}, tools(20));
    EXPECT_LE(c.bytes, max_bytes);
    EXPECT_GE(static_cast<double>(c.bytes), 0.9 * static_cast<double>(max_bytes));
    EXPECT_EQ(c.bytes, bytes_of(c.model.size(), c.model.sh_degree));
  }
}

TEST(Compress, ChoosesBetweenGaussiansAndHarmonicsByQuality) {
  // 31,000 bytes hold all Gaussians without harmonics, or half of them with all.
  const CompressGoal goal{.max_bytes = 31'000, .min_quality = {}};
  EXPECT_LT(run(goal, tools(0.01)).model.sh_degree, 3);
  EXPECT_EQ(run(goal, tools(20)).model.sh_degree, 3);
}

TEST(Compress, KeepsTheMostImportantInTheirOrder) {
  const Compressed c = run({.max_bytes = 10'000, .min_quality = {}}, tools(20));
  ASSERT_LT(c.model.size(), kCount);
  ASSERT_GT(c.model.size(), 0u);
  for (std::size_t i = 0; i < c.model.size(); ++i)
    EXPECT_EQ(c.model.logit_opacity[i], static_cast<float>(kCount - c.model.size() + i + 1));
}

TEST(Compress, SaysHowManyBytesAreTooFew) {
  try {
    run({.max_bytes = 100, .min_quality = {}}, tools(1));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("100 bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(std::to_string(bytes_of(1, 0))), std::string::npos) << e.what();
  }
}

TEST(Compress, FindsTheFewestBytesForAQuality) {
  const double least = 35;
  const Compressed c = run({.max_bytes = {}, .min_quality = least}, tools(2));
  EXPECT_GE(c.quality, least);
  // By trying every draft:
  std::uint64_t fewest = bytes_of(kCount, 3);
  for (int degree = 0; degree <= 3; ++degree)
    for (std::size_t count = 1; count <= kCount; ++count) {
      const double n = static_cast<double>(count), gone = kCount - n;
      const double share = 1 - gone * (gone + 1) / (kCount * (kCount + 1.0));
      if (40 - 20 * (1 - share) - 2 * (3 - degree) >= least)
        fewest = std::min(fewest, bytes_of(count, degree));
    }
  EXPECT_GE(c.bytes, fewest);
  EXPECT_LE(static_cast<double>(c.bytes), 1.02 * static_cast<double>(fewest));
}

TEST(Compress, SaysWhichQualityCannotBeReached) {
  EXPECT_THROW(run({.max_bytes = {}, .min_quality = 41}, tools(1)), Error);
  EXPECT_NO_THROW(run({.max_bytes = {}, .min_quality = 40}, tools(1)));
}

TEST(Compress, TuningRaisesTheQualityAndSavesBytes) {
  const Compressed large = run({.max_bytes = 20'000, .min_quality = {}}, tools(1, true));
  EXPECT_NEAR(large.quality, large.quality_untuned + 2, 1e-9);
  const CompressGoal goal{.max_bytes = {}, .min_quality = 33};
  const Compressed plain = run(goal, tools(1)), tuned = run(goal, tools(1, true));
  EXPECT_GE(tuned.quality, 33);
  EXPECT_LT(static_cast<double>(tuned.bytes), 0.95 * static_cast<double>(plain.bytes));
}

TEST(Compress, ATunedModelThatDoesNotFitLosesMoreGaussians) {
  CompressTools t = tools(20, true);
  t.store = [](const Gaussians& g) {  // tuned models take a fifth more
    const std::uint64_t bytes = bytes_of(g.size(), g.sh_degree);
    return CompressTools::Stored{g.size() > 0 && g.mean[0].x != 0 ? bytes * 6 / 5 : bytes, g};
  };
  const Compressed c = run({.max_bytes = 20'000, .min_quality = {}}, t);
  EXPECT_LE(c.bytes, 20'000u);
  EXPECT_GT(c.bytes, 17'000u);
  EXPECT_EQ(c.model.mean[0].x, 1);
  EXPECT_EQ(c.model.logit_opacity.back(), static_cast<float>(kCount));  // the most important is still there
}

TEST(Compress, ATuningThatMakesItWorseIsNotUsed) {
  CompressTools t = tools(1, true);
  t.quality = [](const Gaussians& g) { return g.mean[0].x != 0 ? 10.0 : quality_of(g, 1); };
  const Compressed c = run({.max_bytes = 20'000, .min_quality = {}}, t);
  EXPECT_EQ(c.model.mean[0].x, 0);
  EXPECT_EQ(c.quality, c.quality_untuned);
}

TEST(Compress, ATunedModelIsNotUsedIfItLosesMoreByItsSize) {
  CompressTools t = tools(20, true);  // tuning gains 2 dB, which costs more than that
  t.store = [](const Gaussians& g) {
    const std::uint64_t bytes = bytes_of(g.size(), g.sh_degree);
    return CompressTools::Stored{g.mean[0].x != 0 ? 2 * bytes : bytes, g};
  };
  const Compressed c = run({.max_bytes = 20'000, .min_quality = {}}, t);
  EXPECT_EQ(c.model.mean[0].x, 0);
  EXPECT_EQ(c.quality, c.quality_untuned);
}

TEST(Compress, ATunedGaussianThatDoesNotFitIsNotUsed) {
  CompressTools t = tools(20, true);
  t.store = [](const Gaussians& g) {
    const std::uint64_t bytes = bytes_of(g.size(), g.sh_degree);
    return CompressTools::Stored{g.mean[0].x != 0 ? bytes + 1 : bytes, g};
  };
  const Compressed c = run({.max_bytes = bytes_of(1, 0), .min_quality = {}}, t);
  EXPECT_EQ(c.model.size(), 1u);
  EXPECT_EQ(c.bytes, bytes_of(1, 0));
  EXPECT_EQ(c.model.mean[0].x, 0);
}

TEST(Compress, ASurveySeesModelsOfAnySizeAtAnyPlace) {
  const std::unique_ptr<Backend> backend = make_backend("cpu");
  for (const double scale : {1.0, 0.003, 300.0}) {
    Gaussians g = random_cloud(40, 0, 5, {.logit_opacity_sd = 0.5f});
    SimilarityTransform moved;
    moved.scale = scale;
    moved.translation = Vec3<double>(50, 20, -70) * scale;
    transform(moved, g);
    const Survey survey = survey_of(g);
    const std::vector<float> effects =
        picture_effects(*backend, g, survey.cameras, {.near_plane = survey.near_plane});
    EXPECT_EQ(std::count(effects.begin(), effects.end(), 0.0f), 0) << scale;
  }
}

TEST(Compress, TheEffectOfAGaussianIsTheSquaredChangeOfThePictures) {
  const std::unique_ptr<Backend> backend = make_backend("cpu");
  const Gaussians g = random_cloud(60, 1, 5);
  const Camera camera = looking_down_z(64, 48, 60);
  const std::vector<Camera> cameras(64, camera);  // many estimates of the same number
  const std::vector<float> effects = picture_effects(*backend, g, cameras, {});
  const Image whole = render(*backend, g, {camera, {}}).color;
  double error = 0, sum = 0;
  for (std::uint32_t i = 0; i < g.size(); i += 7) {
    std::vector<std::uint32_t> others;
    for (std::uint32_t k = 0; k < g.size(); ++k)
      if (k != i) others.push_back(k);
    const Image without = render(*backend, select(g, others), {camera, {}}).color;
    double squares = 0;
    for (std::size_t p = 0; p < whole.values.size(); ++p)
      squares += std::pow(whole.values[p] - without.values[p], 2);
    error += std::abs(effects[i] / 64 - squares);
    sum += squares;
  }
  ASSERT_GT(sum, 0);
  EXPECT_LT(error / sum, 0.3);  // of 128 samples; the seeds are fixed
}

TEST(Compress, OfEqualEffectsTheFirstComesFirst) {
  EXPECT_EQ(order_of_effects(std::vector<float>{0, 2, 0, 3, 0}), (std::vector<std::uint32_t>{3, 1, 0, 2, 4}));
}

TEST(Compress, ToAFormatWithoutHarmonicsOnlyTheCountMatters) {
  CompressTools t = tools(1, true);
  int tunings = 0;
  t.store = [](Gaussians g) {
    set_sh_degree(g, 0);
    return CompressTools::Stored{bytes_of(g.size(), 0), g};
  };
  t.tune = [&](const Gaussians& g) {
    ++tunings;
    EXPECT_EQ(g.sh_degree, 0);
    return g;
  };
  EXPECT_EQ(run({.max_bytes = 10'000, .min_quality = {}}, t).model.sh_degree, 0);
  EXPECT_EQ(tunings, 1);
}

}  // namespace
}  // namespace stipple
