// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/defect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stipple/clean/clean.h"
#include "stipple/core/random.h"
#include "stipple/math/math.h"

namespace stipple {
namespace {

// Small Gaussians that fill a cube from -1 to 1.
Gaussians cube(int sh_degree = 0) {
  Random random(1);
  Gaussians g = make_gaussians(2000, sh_degree);
  for (std::size_t i = 0; i < g.size(); ++i) {
    g.mean[i] = {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)};
    g.log_scale[i] = Vec3f(1, 1, 1) * std::log(random.uniform(0.02f, 0.05f));
    g.rotation[i] = {1, 0, 0, 0};
  }
  return g;
}

// The defect that a Gaussian of this place and size has in the cube.
Defect defect_in_cube(Vec3f mean, Vec3f scale) {
  Gaussians g = cube();
  g.mean[7] = mean;
  g.log_scale[7] = {std::log(scale.x), std::log(scale.y), std::log(scale.z)};
  const std::vector<Defect> found = find_defects(shape_of(g).shapes);
  for (std::size_t i = 0; i < g.size(); ++i) EXPECT_TRUE(i == 7 || found[i] == Defect::kNone) << i;
  return found[7];
}

TEST(Defect, ShapesTellWhatIsCertain) {
  EXPECT_EQ(defect_in_cube({0, 0, 0}, {0.03f, 0.03f, 0.03f}), Defect::kNone);
  EXPECT_EQ(defect_in_cube({0, 30, 0}, {0.03f, 0.03f, 0.03f}), Defect::kFarOutside);
  EXPECT_EQ(defect_in_cube({0, 0.5f, 0}, {1, 1, 1}), Defect::kOversized);
  EXPECT_EQ(defect_in_cube({0, 0, 0}, {0.01f, 1, 0.01f}), Defect::kSpike);
  EXPECT_EQ(defect_in_cube({0, 5, 0}, {0.03f, 0.03f, 0.03f}), Defect::kFloater);
}

TEST(Defect, WhatIsLegitimateHasNoneByItsShape) {
  EXPECT_EQ(defect_in_cube({0, 8, 0}, {2, 2, 0.1f}), Defect::kNone) << "a piece of the sky";
  EXPECT_EQ(defect_in_cube({0, 0, 0}, {0.3f, 0.2f, 0.01f}), Defect::kNone) << "a part of a wall";
  EXPECT_EQ(defect_in_cube({0, 0, 0}, {0.001f, 0.05f, 0.001f}), Defect::kNone) << "a short needle";
}

TEST(Defect, ValuesThatAreNotFiniteAreFoundInEveryParameter) {
  const float nan = std::numeric_limits<float>::quiet_NaN(),
              infinity = std::numeric_limits<float>::infinity();
  Gaussians g = cube(3);
  g.mean[0].y = nan;
  g.log_scale[1].z = -infinity;
  g.rotation[2].x = infinity;
  g.logit_opacity[3] = nan;
  g.sh[4 * 16 + 15].z = nan;
  const CleanResult result = clean(g);
  EXPECT_EQ(result.classes[static_cast<std::size_t>(Defect::kNonFinite)].removed, 5u);
  EXPECT_EQ(result.kept.size(), 1995u);
  EXPECT_EQ(result.kept[0], 5u);
}

TEST(Defect, HugeNumbersAreNoError) {
  Gaussians g = cube();
  g.mean[0].x = 3e38f;
  g.log_scale[1] = {3e38f, 3e38f, 3e38f};
  g.log_scale[2] = {-3e38f, -3e38f, -3e38f};
  const std::vector<Defect> found = find_defects(shape_of(g).shapes);
  EXPECT_EQ(found[0], Defect::kFarOutside);
  EXPECT_EQ(found[1], Defect::kOversized);
}

TEST(Defect, FewGaussiansAreNotJudgedByTheirShape) {
  Gaussians g = make_gaussians(3, 1);
  g.mean[0] = {1000, 0, 0};
  g.log_scale[1] = {9, 0, 0};
  EXPECT_EQ(clean(g).kept.size(), 3u);
  EXPECT_EQ(clean(make_gaussians(0, 2)).kept.size(), 0u);
}

TEST(Defect, GaussiansInTheSamePlaceAreNoError) {
  Gaussians g = make_gaussians(200, 0);
  g.mean[3].x = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(find_defects(shape_of(g).shapes)[3], Defect::kNonFinite);
}

constexpr std::size_t kViews = 20;

Defect defect_of(const Evidence& evidence, const Shape& shape = {}) {
  return find_defects(std::span(&shape, 1), std::span(&evidence, 1), kViews)[0];
}

// Seen with the same area in ten views, and needed by them.
constexpr Evidence kSupported{.framed = 12, .area_px = 100, .area2_px2 = 1000, .need = 1, .effect = 1};

TEST(Defect, PhotosTellFloatersAndUnsupportedGaussians) {
  EXPECT_EQ(defect_of(kSupported), Defect::kNone);
  EXPECT_EQ(kSupported.effective_views(), 10);

  Evidence e = kSupported;
  e.nearness = 3;
  EXPECT_EQ(defect_of(e), Defect::kNone) << "near to a camera, but seen by many";
  e.area2_px2 = 5000;
  EXPECT_EQ(defect_of(e), Defect::kFloater) << "seen by two, and near to one of them";
  e.nearness = 1;
  EXPECT_EQ(defect_of(e), Defect::kNone) << "seen by two";
  e.area2_px2 = 9000;
  EXPECT_EQ(defect_of(e), Defect::kUnsupported) << "seen by one of twelve that look at it";
  e.framed = 1;
  EXPECT_EQ(defect_of(e), Defect::kNone) << "seen by the only one that looks at it";
  EXPECT_EQ(defect_of({.framed = 12}), Defect::kUnsupported) << "seen by none";
}

TEST(Defect, WithFewViewsNothingIsCalledAFloaterForBeingSeenByFew) {
  const Evidence e{.framed = 4, .area_px = 10, .area2_px2 = 100, .need = 1, .effect = 1, .nearness = 3};
  const Shape shape;
  EXPECT_EQ(find_defects(std::span(&shape, 1), std::span(&e, 1), 4)[0], Defect::kNone);
  EXPECT_EQ(find_defects(std::span(&shape, 1), std::span(&e, 1), 20)[0], Defect::kFloater);
}

TEST(Defect, WhatIsOnlySuspiciousCountsIfThePhotosAreBetterWithoutIt) {
  const Shape needle{.elongation = 10, .length = 5}, veil{.bulk = 0.1f, .reach = 1};
  Evidence e = kSupported;
  EXPECT_EQ(defect_of(e, needle), Defect::kNone);
  EXPECT_EQ(defect_of(e, veil), Defect::kNone);
  e.need = -1;
  EXPECT_EQ(defect_of(e), Defect::kNone);
  EXPECT_EQ(defect_of(e, needle), Defect::kSpike);
  EXPECT_EQ(defect_of(e, veil), Defect::kOversized);
  e.screen_share = 0.8f;
  e.nearness = 1;
  EXPECT_EQ(defect_of(e), Defect::kOversized) << "covers the screen";
  e.nearness = 0.1f;
  EXPECT_EQ(defect_of(e), Defect::kNone) << "covers the screen, but behind everything";
}

}  // namespace
}  // namespace stipple
