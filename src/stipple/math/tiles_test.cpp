// SPDX-License-Identifier: Apache-2.0
// A splat is listed in exactly the tiles in which it is drawn: none is missed, and hardly any is unnecessary.
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

using F = Math<float>;

constexpr int kColumns = 7, kRows = 5;

// The mean of a needle may be hundreds of pixels from the image, and its length thousands of pixels.
F::Footprint random_footprint(std::mt19937& rng, bool is_needle = false) {
  Math<float>::Pinhole camera;
  camera.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  camera.translation = {0, 0, 0};
  camera.focal_px = {100, 100};
  camera.center_px = {56, 40};
  camera.size_px = {16.0f * kColumns, 16.0f * kRows};
  auto f = [&](double low, double high) { return static_cast<float>(uniform(rng, low, high)); };
  F::Shape shape{{std::exp(f(-6, 0.5)), std::exp(f(-6, 0.5)), 0.01f}, {f(-1, 1), 0, 0, f(-1, 1)}};
  Vec3f mean{f(-0.8, 0.8), f(-0.6, 0.6), 1};
  if (is_needle) {
    shape.scale = {std::exp(f(0, 4)), std::exp(f(-9, -4)), 0.01f};
    mean = {8 * mean.x, 8 * mean.y, 1};
  }
  F::Placed placed{mean, F::covariance(shape)};
  return F::footprint(placed, f(0.004, 1), camera, {0.2f, 0.3f, 1, 0.99f, false, false});
}

bool is_drawn_in(const F::Footprint& s, int column, int row) {
  F::Splat splat{s.mean_px, s.conic, s.opacity, {0, 0, 0, 0}};
  for (int y = 16 * row; y < 16 * row + 16; ++y)
    for (int x = 16 * column; x < 16 * column + 16; ++x)
      if (F::alpha_at(splat, {static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f}, 0.99f) > 0)
        return true;
  return false;
}

TEST(Tiles, AreThoseInWhichTheSplatIsDrawn) {
  std::mt19937 rng(50);
  int drawn = 0, unnecessary = 0;
  for (int i = 0; i < 5 * kTrials; ++i) {
    F::Footprint s = random_footprint(rng);
    if (s.opacity == 0) continue;
    F::TileRange rows = F::tile_rows(s, kRows);
    for (int row = 0; row < kRows; ++row) {
      F::TileRange columns = F::tile_columns(s, F::splat_tau(F::log2_of(s.opacity)), row, kColumns);
      for (int column = 0; column < kColumns; ++column) {
        bool listed = row >= rows.begin && row < rows.end && column >= columns.begin && column < columns.end;
        bool needed = is_drawn_in(s, column, row);
        ASSERT_TRUE(listed || !needed) << "splat " << i << " is missing from tile " << column << ", " << row;
        drawn += needed;
        unnecessary += listed && !needed;
      }
    }
  }
  EXPECT_GT(drawn, kTrials);
  // A tile is unnecessary only if the ellipse passes between its pixel centres.
  EXPECT_LT(unnecessary, drawn / 20);
}

bool is_drawn_in_box(const F::Footprint& s, const F::FoldedSplat& folded, int left, int top, int size) {
  F::Splat splat{s.mean_px, s.conic, s.opacity, {0, 0, 0, 0}};
  for (int y = top; y < top + size; ++y)
    for (int x = left; x < left + size; ++x) {
      Vec2f pixel{static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f};
      if (F::alpha_at(splat, pixel, 0.99f) > 0 || F::folded_exponent(folded, pixel) >= F::min_exponent)
        return true;
    }
  return false;
}

// Boxes of several sizes, all over the image and around it.
TEST(Tiles, ASplatMayReachTheBoxesInWhichItIsDrawn) {
  std::mt19937 rng(51);
  for (int size : {1, 2, 8}) {
    int drawn = 0, not_drawn = 0, unnecessary = 0;
    for (int i = 0; i < 4 * kTrials; ++i) {
      F::Footprint s = random_footprint(rng, i % 2 == 1);
      if (s.opacity == 0) continue;
      F::FoldedSplat folded = F::fold(s.mean_px, s.conic, F::log2_of(s.opacity), F::log2_of(0.99f));
      for (int trial = 0; trial < 20; ++trial) {
        int left = static_cast<int>(uniform(rng, -16, 16 * kColumns));
        int top = static_cast<int>(uniform(rng, -16, 16 * kRows));
        float half = 0.5f * static_cast<float>(size);
        Vec2f center{static_cast<float>(left) + half, static_cast<float>(top) + half};
        bool reached = F::may_reach_box(folded, center, half - 0.5f);
        bool needed = is_drawn_in_box(s, folded, left, top, size);
        ASSERT_TRUE(reached || !needed)
            << "splat " << i << ", box at " << left << ", " << top << " of " << size;
        drawn += needed;
        not_drawn += !needed;
        unnecessary += reached && !needed;
      }
    }
    EXPECT_GT(drawn, kTrials);
    EXPECT_GT(not_drawn, kTrials);
    // A box is unnecessary only if the ellipse passes between its pixel centres, or misses it by very little.
    EXPECT_LT(unnecessary, drawn / 100) << "boxes of " << size;
  }
}

// Splats whose opacity is such that one pixel is only just drawn, as far as float can tell.
TEST(Tiles, RoundingDoesNotLoseAPixelOfABox) {
  std::mt19937 rng(52);
  int count = 0;
  for (int i = 0; i < 50 * kTrials; ++i) {
    F::Footprint s = random_footprint(rng, i % 2 == 1);
    int x = static_cast<int>(uniform(rng, 0, 16 * kColumns)),
        y = static_cast<int>(uniform(rng, 0, 16 * kRows));
    Vec2f pixel{static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f};
    F::FoldedSplat folded = F::fold(s.mean_px, s.conic, 0, 0);
    folded.log2_opacity = F::min_exponent - F::folded_exponent(folded, pixel);
    for (int step = 0; step < 4 && F::folded_exponent(folded, pixel) < F::min_exponent; ++step)
      folded.log2_opacity = folded.log2_opacity * (1 - 1e-7f);
    if (s.opacity == 0 || folded.log2_opacity > 0 || F::folded_exponent(folded, pixel) < F::min_exponent)
      continue;
    ++count;
    ASSERT_TRUE(F::may_reach_box(folded, pixel, 0)) << "splat " << i;
    int left = x / 8 * 8, top = y / 8 * 8;
    Vec2f center{static_cast<float>(left + 4), static_cast<float>(top + 4)};
    ASSERT_TRUE(F::may_reach_box(folded, center, 3.5f)) << "splat " << i;
  }
  EXPECT_GT(count, kTrials);
}

TEST(Tiles, RangesAreClampedToTheImage) {
  F::TileRange all = F::tiles_meeting(-1e30f, 1e30f, 3);
  EXPECT_EQ(all.begin, 0);
  EXPECT_EQ(all.end, 3);
  F::TileRange left = F::tiles_meeting(-90, -0.6f, 3), right = F::tiles_meeting(48.1f, 90, 3);
  EXPECT_LE(left.end, left.begin);
  EXPECT_LE(right.end, right.begin);
}

TEST(Tiles, DependOnPixelCentresNotEdges) {
  // The last pixel centre of tile 0 is at 15.5, the first of tile 1 at 16.5.
  F::TileRange r = F::tiles_meeting(15.5f, 16.4f, 3);
  EXPECT_EQ(r.begin, 0);
  EXPECT_EQ(r.end, 1);
  r = F::tiles_meeting(15.6f, 16.5f, 3);
  EXPECT_EQ(r.begin, 1);
  EXPECT_EQ(r.end, 2);
}

}  // namespace
}  // namespace stipple
