// SPDX-License-Identifier: Apache-2.0
// A splat is listed in exactly the tiles in which it is drawn: none is missed, and hardly any is unnecessary.
#include "tests/helpers/expect_vjp.h"

namespace stipple {
namespace {

using F = Math<float>;

constexpr int kColumns = 7, kRows = 5;

F::Footprint random_footprint(std::mt19937& rng) {
  Math<float>::Pinhole camera;
  camera.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  camera.translation = {0, 0, 0};
  camera.focal_px = {100, 100};
  camera.center_px = {56, 40};
  camera.size_px = {16.0f * kColumns, 16.0f * kRows};
  auto f = [&](double low, double high) { return static_cast<float>(uniform(rng, low, high)); };
  F::Shape shape{{std::exp(f(-6, 0.5)), std::exp(f(-6, 0.5)), 0.01f}, {f(-1, 1), 0, 0, f(-1, 1)}};
  F::Placed placed{{f(-0.8, 0.8), f(-0.6, 0.6), 1}, F::covariance(shape)};
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
