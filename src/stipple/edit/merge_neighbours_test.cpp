// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/merge_neighbours.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "stipple/backend/render.h"
#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/edit/principal_axes.h"
#include "stipple/edit/select.h"
#include "tests/helpers/sample_models.h"

namespace stipple {
namespace {

using M = Math<double>;

Mat3<double> covariance_of(const Gaussians& g, std::size_t i) {
  M::Shape shape;
  shape.scale = M::scale_from_log({g.log_scale[i].x, g.log_scale[i].y, g.log_scale[i].z}, 1);
  shape.rotation = {g.rotation[i].x, g.rotation[i].y, g.rotation[i].z, g.rotation[i].w};
  return M::covariance(shape);
}

TEST(PrincipalAxes, GiveTheCovarianceAgain) {
  const Gaussians g = trained_looking_model(200, 0);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const Mat3<double> covariance = covariance_of(g, i);
    const PrincipalAxes axes = principal_axes(covariance);
    const Mat3<double>& r = axes.rotation;
    const Mat3<double> scaled(r[0] * axes.variance.x, r[1] * axes.variance.y, r[2] * axes.variance.z);
    const Mat3<double> again = scaled * transpose(r), identity = r * transpose(r);
    const double size = covariance[0][0] + covariance[1][1] + covariance[2][2];
    for (int c = 0; c < 3; ++c)
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(again[c][k], covariance[c][k], 1e-12 * size);
        EXPECT_NEAR(identity[c][k], c == k ? 1 : 0, 1e-12);
      }
    EXPECT_GT(dot(cross(r[0], r[1]), r[2]), 0);
  }
}

TEST(MergeNeighbours, APairKeepsItsMoments) {
  Gaussians pair = trained_looking_model(2, 2);
  pair.mean = {{1, 2, 3}, {1.01f, 2, 3.02f}};
  pair.log_scale[0] = {-3, -3.5f, -5};
  pair.log_scale[1] = {-4, -3, -4};
  pair.logit_opacity = {-1, 0.5f};
  const Gaussians one = merge_neighbours(pair, 1);
  ASSERT_EQ(one.size(), 1);
  double weight[2], sum = 0;
  const auto area = [](const Vec3f& log_scale) {
    const Vec3f s(std::exp(log_scale.x), std::exp(log_scale.y), std::exp(log_scale.z));
    return static_cast<double>(s.x * s.y + s.y * s.z + s.z * s.x);
  };
  for (std::size_t i = 0; i < 2; ++i)
    sum += weight[i] = area(pair.log_scale[i]) * M::sigmoid(pair.logit_opacity[i]);
  const double a = weight[0] / sum, b = weight[1] / sum;
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(one.mean[0][k], a * pair.mean[0][k] + b * pair.mean[1][k], 1e-6);
    for (int c = 0; c < 3; ++c) {
      const double offset = (pair.mean[1][k] - pair.mean[0][k]) * (pair.mean[1][c] - pair.mean[0][c]);
      const double whole =
          a * covariance_of(pair, 0)[c][k] + b * covariance_of(pair, 1)[c][k] + a * b * offset;
      EXPECT_NEAR(covariance_of(one, 0)[c][k], whole, 1e-8);
    }
  }
  for (std::size_t k = 0; k < 9; ++k) EXPECT_NEAR(one.sh[k].y, a * pair.sh[k].y + b * pair.sh[9 + k].y, 1e-6);
  EXPECT_NEAR(area(one.log_scale[0]) * M::sigmoid(one.logit_opacity[0]), sum, 0.15 * sum);
}

TEST(MergeNeighbours, TwoOfTheSameLetTheSameLightThrough) {
  Gaussians one = trained_looking_model(1, 0);
  one.logit_opacity = {0};
  const Gaussians two = select(one, std::vector<std::uint32_t>{0, 0});
  EXPECT_NEAR(M::sigmoid(merge_neighbours(two, 1).logit_opacity[0]), 0.75, 1e-5);
}

TEST(MergeNeighbours, LeavesExactlyAsManyAsWanted) {
  for (const std::size_t count : {1, 2, 37, 150, 299, 300, 1000})
    EXPECT_EQ(merge_neighbours(trained_looking_model(300, 1), count).size(),
              std::min<std::size_t>(count, 300));
  EXPECT_EQ(merge_neighbours(trained_looking_model(3, 1), 0).size(), 1);
}

TEST(MergeNeighbours, ThreadsMakeNoDifference) {
  const Gaussians model = trained_looking_model(20'000, 0);
  Gaussians one, five;
  with_threads(1, [&] { one = merge_neighbours(model, 5000); });
  with_threads(5, [&] { five = merge_neighbours(model, 5000); });
  EXPECT_EQ(one.mean, five.mean);
  EXPECT_EQ(one.log_scale, five.log_scale);
  EXPECT_EQ(one.sh, five.sh);
}

TEST(MergeNeighbours, HiddenFlatAndOpaqueOnesStayFinite) {
  Gaussians g = trained_looking_model(100, 1);
  for (std::size_t i = 0; i < 100; i += 4) {
    g.logit_opacity[i] = i % 8 == 0 ? INFINITY : -INFINITY;
    g.log_scale[i + 1] = {-100, -100, -100};
    g.rotation[i + 2] = {0, 0, 0, 0};
    g.mean[i + 3] = g.mean[i];
  }
  const Gaussians merged = merge_neighbours(g, 20);
  for (std::size_t i = 0; i < merged.size(); ++i)
    for (int k = 0; k < 3; ++k) {
      EXPECT_TRUE(std::isfinite(merged.mean[i][k]));
      EXPECT_TRUE(std::isfinite(merged.log_scale[i][k]));
      EXPECT_TRUE(std::isfinite(merged.sh[i * 4][k]));
    }
}

TEST(MergeNeighbours, EndsWhateverTheNumbersAre) {
  Gaussians nowhere = trained_looking_model(40, 0), far = nowhere;
  for (Vec3f& p : nowhere.mean) p.y = NAN;
  EXPECT_EQ(merge_neighbours(nowhere, 20).size(), 1u);
  nowhere.mean[3] = nowhere.mean[7] = {1, 2, 3};
  EXPECT_EQ(merge_neighbours(nowhere, 20).mean, (std::vector<Vec3f>{{1, 2, 3}, {1, 2, 3}}));
  for (std::size_t i = 0; i < far.size(); ++i) far.mean[i] = far.mean[i] * 1e37f;  // their distances overflow
  EXPECT_EQ(merge_neighbours(far, 20).size(), 20u);
  EXPECT_EQ(merge_neighbours(hostile_model(500, 1), 100).size(), 100u);
}

// A ball whose surface has a pattern, of overlapping discs.
Gaussians patterned_ball(std::size_t count) {
  Gaussians g = make_gaussians(count, 0);
  Random random(11);
  const float spacing = std::sqrt(12.57f / static_cast<float>(count));
  for (std::size_t i = 0; i < count; ++i) {
    Vec3f n(random.normal(), random.normal(), random.normal());
    n = n * (1 / std::sqrt(dot(n, n)));
    g.mean[i] = n;
    g.log_scale[i] = {std::log(0.7f * spacing), std::log(0.7f * spacing), std::log(0.05f * spacing)};
    g.rotation[i] = {1 + n.z, -n.y, n.x, 0};  // turns z to n
    g.logit_opacity[i] = 3;
    const float stripe = std::sin(6 * n.x) * std::sin(6 * n.y);
    g.sh[i] = {stripe, 1.5f * n.z, stripe * n.y};
  }
  return g;
}

TEST(MergeNeighbours, EachLevelLooksLikeTheModelFromWhereItIsShown) {
  auto backend = make_backend("cpu");
  const Gaussians model = patterned_ball(40'000);
  Gaussians level = model;
  // With half as many Gaussians, a level is shown at sqrt(2) times the distance, where as many pixels are
  // left to each of them.
  float size_px = 160;
  const double least[] = {0, 35, 30, 25.5, 22.5};
  for (int halvings = 1; halvings <= 4; ++halvings) {
    level = merge_neighbours(level, level.size() / 2);
    size_px /= std::sqrt(2.0f);
    View view;
    view.camera.camera_from_world.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    view.camera.camera_from_world.translation = {0, 0, 4};
    view.camera.width_px = view.camera.height_px = static_cast<int>(size_px);
    view.camera.focal_px = {1.5f * size_px, 1.5f * size_px};
    view.camera.center_px = {size_px / 2, size_px / 2};
    const Image whole = render(*backend, model, view).color;
    const double merged = psnr(render(*backend, level, view).color, whole);
    EXPECT_GT(merged, least[halvings]) << halvings;
    // Merely leaving out Gaussians is far worse.
    std::vector<std::uint32_t> rows;
    for (std::size_t i = 0; i < model.size(); i += std::size_t{1} << halvings)
      rows.push_back(static_cast<std::uint32_t>(i));
    EXPECT_LT(psnr(render(*backend, select(model, rows), view).color, whole), merged - 4) << halvings;
  }
}

}  // namespace
}  // namespace stipple
