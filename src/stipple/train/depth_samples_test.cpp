// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/depth_samples.h"

#include <gtest/gtest.h>

#include <set>

#include "stipple/camera/pose.h"
#include "stipple/core/random.h"

namespace stipple {
namespace {

constexpr int kWidth = 120, kHeight = 90;

Camera camera() {
  Camera c;
  c.focal_px = {100, 100};
  c.center_px = {60, 45};
  c.width_px = kWidth;
  c.height_px = kHeight;
  return c;
}

void add_at(Points& points, Vec2f pixel, float depth) {
  points.position.push_back(point_at(camera(), pixel, depth));
  points.color.push_back({});
}

// Points of a wall at about this depth, anywhere in the picture.
Points wall(std::size_t count, float depth, std::uint64_t seed = 7) {
  Random random(seed);
  Points points;
  for (std::size_t i = 0; i < count; ++i)
    add_at(points, {random.uniform(0, kWidth), random.uniform(0, kHeight)}, depth * random.uniform(1, 1.02f));
  return points;
}

const DepthSample* find(const KnownDepths& known, int x, int y) {
  for (const DepthSample& s : known.samples)
    if (s.pixel == static_cast<std::uint32_t>(y * kWidth + x)) return &s;
  return nullptr;
}

TEST(KnownDepthsTest, AreThoseOfThePointsInTheirPixels) {
  Points points = wall(300, 4);
  add_at(points, {30.7f, 20.2f}, 4.01f);
  const KnownDepths known = known_depths(points, camera());
  const DepthSample* sample = find(known, 30, 20);
  ASSERT_TRUE(sample);
  EXPECT_NEAR(sample->inverse_depth, 1 / 4.01f, 1e-6f);
  EXPECT_NEAR(known.scale, 4, 0.1f);
  EXPECT_GT(known.samples.size(), 250u);
}

TEST(KnownDepthsTest, HaveOneSamplePerPixelOfTheNearestPoint) {
  Points points = wall(300, 4);
  add_at(points, {30.5f, 20.5f}, 4.07f);
  add_at(points, {30.2f, 20.8f}, 4.02f);
  add_at(points, {30.7f, 20.1f}, 4.05f);
  const KnownDepths known = known_depths(points, camera());
  const DepthSample* sample = find(known, 30, 20);
  ASSERT_TRUE(sample);
  EXPECT_NEAR(sample->inverse_depth, 1 / 4.02f, 1e-6f);
  for (std::size_t i = 1; i < known.samples.size(); ++i)
    EXPECT_LT(known.samples[i - 1].pixel, known.samples[i].pixel);
}

TEST(KnownDepthsTest, LeaveOutPointsBehindOthersAndAFewThatAreNearOrFar) {
  Points points = wall(500, 4);
  const Points behind = wall(500, 6, 8);
  points.position.insert(points.position.end(), behind.position.begin(), behind.position.end());
  points.color.resize(points.position.size());
  add_at(points, {50.5f, 40.5f}, 0.05f);
  add_at(points, {80.5f, 40.5f}, 900);
  const KnownDepths known = known_depths(points, camera());
  EXPECT_GT(known.samples.size(), 300u);
  std::size_t of_the_wall = 0;
  for (const DepthSample& s : known.samples) {
    EXPECT_GT(1 / s.inverse_depth, 3.9f);
    EXPECT_LT(1 / s.inverse_depth, 7);
    of_the_wall += 1 / s.inverse_depth < 4.1f;
  }
  EXPECT_GT(static_cast<double>(of_the_wall), 0.95 * static_cast<double>(known.samples.size()));
}

TEST(KnownDepthsTest, AreThinnedOutEvenly) {
  const KnownDepths known = known_depths(wall(40'000, 4), camera());  // nearly every pixel has a point
  EXPECT_EQ(known.samples.size(), 4096u);
  std::set<std::uint32_t> pixels;
  std::size_t in_upper_half = 0;
  for (const DepthSample& s : known.samples) {
    pixels.insert(s.pixel);
    in_upper_half += s.pixel < kWidth * kHeight / 2;
  }
  EXPECT_EQ(pixels.size(), known.samples.size());
  EXPECT_NEAR(static_cast<double>(in_upper_half), 2048, 100);
}

TEST(KnownDepthsTest, AreEmptyIfTheCameraSeesHardlyAnyPoints) {
  EXPECT_TRUE(known_depths({}, camera()).samples.empty());
  EXPECT_TRUE(known_depths(wall(10, 4), camera()).samples.empty());
}

}  // namespace
}  // namespace stipple
