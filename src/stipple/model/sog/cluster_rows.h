// SPDX-License-Identifier: Apache-2.0
#pragma once
// k-means: a few centres that stand for many rows of floats.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stipple {

// Rows of floats in memory, at a fixed distance of each other.
struct RowView {
  const float* first;
  std::size_t count;
  std::size_t stride;      // from one row to the next, in floats
  std::size_t dimensions;  // of a row

  const float* row(std::size_t i) const { return first + i * stride; }
};

struct Clusters {
  std::vector<float> centers;         // [cluster][dimension]
  std::vector<std::uint32_t> labels;  // the cluster of each row
};

// Chooses at most `count` clusters with a small sum of squared distances from rows to the centres of their
// clusters. If there are at most so many distinct rows, they are the centres. Otherwise the rows are
// clustered into branches, each branch into clusters, and each row is then moved to the nearest centre of the
// branches around it: with tens of thousands of clusters, the time to compare each row with every centre
// would be hours. Values must be finite. The result is the same for any number of threads.
Clusters cluster_rows(const RowView& rows, std::size_t count);

}  // namespace stipple
