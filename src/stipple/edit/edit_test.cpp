// SPDX-License-Identifier: Apache-2.0
// Cropping, pruning, ranking and joining.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stipple/core/curve_order.h"
#include "stipple/edit/finite.h"
#include "stipple/edit/importance.h"
#include "stipple/edit/join.h"
#include "stipple/edit/rows_to_keep.h"
#include "stipple/edit/select.h"
#include "tests/helpers/conformance_scenes.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Rows = std::vector<std::uint32_t>;

Gaussians at_points(std::vector<Vec3f> points) {
  Gaussians g = make_gaussians(points.size(), 0);
  g.mean = std::move(points);
  return g;
}

TEST(CropBox, KeepsWhatIsInsideOrOnTheBorder) {
  const Gaussians g = at_points({{0, 0, 0}, {1, 1, 1}, {1.0001f, 0, 0}, {0, -1, 0}, {0, 0, kNan}, {0, 0, 5}});
  EXPECT_EQ(rows_in(crop_box({-1, -1, -1, 1, 1, 1}), g), (Rows{0, 1, 3}));
}

TEST(CropBox, IsTurnedAboutItsCentre) {
  // 4 x 1 x 1, centred at (10, 0, 0), turned by 90 degrees about z: now it is long in y.
  const double half = std::sqrt(0.5);
  const CropBox box = crop_box({8, -0.5, -0.5, 12, 0.5, 0.5, half, 0, 0, half});
  EXPECT_EQ(rows_in(box, at_points({{10, 1.9f, 0}, {11.9f, 0, 0}, {10, -1.9f, 0.4f}, {10, 2.1f, 0}})),
            (Rows{0, 2}));
}

TEST(CropBox, OtherNumbersAreRefused) {
  EXPECT_NE(error_of([] { crop_box({1, 2, 3}); }).find("but not 3"), std::string::npos);
  EXPECT_NE(error_of([] { crop_box({1, 0, 0, 0, 1, 1}); }).find("at most its maximum"), std::string::npos);
  EXPECT_NE(error_of([] { crop_box({0, 0, 0, INFINITY, 1, 1}); }).find("finite"), std::string::npos);
  EXPECT_NE(error_of([] { crop_box({0, 0, 0, 1, 1, 1, 0, 0, 0, 0}); }).find("not zero"), std::string::npos);
}

TEST(Prune, KeepsOpacitiesFromTheLimitOn) {
  Gaussians g = make_gaussians(4, 0);
  g.logit_opacity = {0, -5, 5, kNan};
  EXPECT_EQ(rows_with_opacity(0.5f, g), (Rows{0, 2}));
}

TEST(Usable, IsWhatHasFiniteValuesAndScales) {
  Gaussians g = make_gaussians(5, 1);
  g.mean[0].y = kNan;
  g.log_scale[1].z = 100;   // e^100 is no float
  g.log_scale[2].z = -100;  // flat
  g.sh[4 * 3 + 2].x = INFINITY;
  EXPECT_EQ(usable_rows(g), (Rows{2, 4}));
}

TEST(Importance, IsOpacityTimesArea) {
  Gaussians g = make_gaussians(4, 0);
  g.logit_opacity = {3, -3, 3, kNan};
  g.log_scale = {{-3, -3, -3}, {1, 1, -9}, {-2, -9, -2}, {9, 9, 9}};
  EXPECT_EQ(most_important(g, 1), (Rows{1}));
  EXPECT_EQ(most_important(g, 2), (Rows{1, 2}));
  EXPECT_EQ(most_important(g, 9), (Rows{0, 1, 2, 3}));
}

TEST(Importance, CountsWhatTheCamerasSee) {
  Scene scene;
  scene.views.resize(1);
  scene.views[0].camera = looking_down_z(64, 48, 60);  // from z = -4
  Gaussians g = at_points({{0, 0, -2}, {0, 0, 4}, {0, 0, -9}});
  EXPECT_EQ(most_important(g, 1, scene, std::vector<std::size_t>{0}), (Rows{0}));
  g.log_scale[1] = {2, 2, 2};
  EXPECT_EQ(most_important(g, 1, scene, std::vector<std::size_t>{0}), (Rows{1}));
  g.log_scale[2] = {5, 5, 5};  // behind the camera
  EXPECT_EQ(most_important(g, 1, scene, std::vector<std::size_t>{0}), (Rows{1}));
}

TEST(Join, AppendsInTheHigherDegree) {
  for (const auto& [a, b] : {std::pair(1, 3), std::pair(3, 1), std::pair(0, 0)}) {
    Gaussians g = random_cloud(4, a, 1);
    const Gaussians first = g, second = random_cloud(5, b, 2);
    append(second, g);
    ASSERT_EQ(g.size(), 9u);
    EXPECT_EQ(g.sh_degree, std::max(a, b));
    const std::size_t n = g.sh_count(), nb = second.sh_count();
    ASSERT_EQ(g.sh.size(), 9 * n);
    EXPECT_EQ(g.mean[3], first.mean[3]);
    EXPECT_EQ(g.rotation[4], second.rotation[0]);
    EXPECT_EQ(g.logit_opacity[8], second.logit_opacity[4]);
    EXPECT_EQ(g.sh[8 * n + nb - 1], second.sh[5 * nb - 1]);
    EXPECT_EQ(g.sh[0], first.sh[0]);
  }
}

TEST(CurveOrder, SortsBrokenPointsToo) {
  std::vector<Vec3f> points = {{1, 1, 1}, {kNan, 0, 0}, {INFINITY, -INFINITY, kNan}, {0, 0, 0}, {1, 1, 1}};
  Rows order = curve_order(points);
  EXPECT_EQ(std::find(order.begin(), order.end(), 4u), std::find(order.begin(), order.end(), 0u) + 1);
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (Rows{0, 1, 2, 3, 4}));
  points.assign(3, {kNan, kNan, kNan});
  EXPECT_EQ(curve_order(points), (Rows{0, 1, 2}));
}

}  // namespace
}  // namespace stipple
