// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/cluster_rows.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/model/sog/nearest_row.h"

namespace stipple {
namespace {

std::vector<float> random_rows(std::size_t count, std::size_t dimensions) {
  Random random(9);
  std::vector<float> rows(count * dimensions);
  for (float& value : rows) value = random.normal();
  return rows;
}

double error_of_clusters(const RowView& rows, const Clusters& clusters) {
  double sum = 0;
  for (std::size_t i = 0; i < rows.count; ++i)
    for (std::size_t k = 0; k < rows.dimensions; ++k) {
      const double d = clusters.centers[clusters.labels[i] * rows.dimensions + k] - rows.row(i)[k];
      sum += d * d;
    }
  return sum / static_cast<double>(rows.count * rows.dimensions);
}

TEST(NearestRow, IsTheNearestForAnyNumberOfRowsAndDimensions) {
  for (const std::size_t dimensions : {3, 9, 45})
    for (const std::size_t table_size : {1, 15, 16, 17, 100}) {
      const std::vector<float> rows = random_rows(table_size + 23, dimensions);
      const RowTable table(rows.data(), table_size, dimensions);
      std::vector<const float*> searched;
      for (std::size_t i = 0; i < 23; ++i) searched.push_back(&rows[(table_size + i) * dimensions]);
      std::vector<Nearest> found(searched.size());
      find_nearest(table, searched, found.data());
      std::vector<float> scores(table.groups * RowTable::kWide);
      for (std::size_t i = 0; i < searched.size(); ++i) {
        std::size_t best = 0;
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t c = 0; c < table_size; ++c) {
          double distance2 = 0;
          for (std::size_t k = 0; k < dimensions; ++k) {
            const double d = rows[c * dimensions + k] - searched[i][k];
            distance2 += d * d;
          }
          if (distance2 < least) least = distance2, best = c;
        }
        EXPECT_EQ(found[i].row, best);
        find_scores(table, searched[i], scores.data());
        EXPECT_EQ(scores[best], found[i].score);
      }
    }
}

TEST(ClusterRows, DistinctRowsAreKeptIfThereAreFew) {
  std::vector<float> rows = random_rows(50, 9);
  std::vector<float> repeated;
  for (int copy = 0; copy < 4; ++copy) repeated.insert(repeated.end(), rows.begin(), rows.end());
  const RowView view{repeated.data(), 200, 9, 9};
  const Clusters clusters = cluster_rows(view, 64);
  EXPECT_EQ(clusters.centers, rows);
  EXPECT_EQ(error_of_clusters(view, clusters), 0);
}

TEST(ClusterRows, FindsMostOfThePlacesAroundWhichTheRowsAre) {
  // 512 places, and 30 rows around each.
  constexpr std::size_t kPlaces = 512, kCopies = 30, kDimensions = 9;
  const std::vector<float> places = random_rows(kPlaces, kDimensions);
  Random random(5);
  std::vector<float> rows;
  for (std::size_t copy = 0; copy < kCopies; ++copy)
    for (const float x : places) rows.push_back(x + 0.02f * random.normal());
  const RowView view{rows.data(), kPlaces * kCopies, kDimensions, kDimensions};
  const Clusters clusters = cluster_rows(view, 2 * kPlaces);
  EXPECT_LE(clusters.centers.size(), 2 * kPlaces * kDimensions);
  EXPECT_LT(error_of_clusters(view, clusters), 0.03);  // of 1 without clusters, and 0.0004 at best
}

TEST(ClusterRows, ThreadsMakeNoDifference) {
  const std::vector<float> rows = random_rows(6000, 24);
  const RowView view{rows.data() + 1, 6000 - 1, 24, 21};
  Clusters one, five;
  with_threads(1, [&] { one = cluster_rows(view, 512); });
  with_threads(5, [&] { five = cluster_rows(view, 512); });
  EXPECT_EQ(one.centers, five.centers);
  EXPECT_EQ(one.labels, five.labels);
}

}  // namespace
}  // namespace stipple
