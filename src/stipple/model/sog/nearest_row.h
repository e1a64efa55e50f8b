// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which of many rows of floats is nearest to another one.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace stipple {

// Rows to search, rearranged for vectors: in groups of kWide rows, [group][dimension][row].
struct RowTable {
  static constexpr std::size_t kWide = 16;

  // The rows are [row][dimension], one after the other.
  RowTable(const float* rows, std::size_t row_count, std::size_t dimension_count);

  std::size_t dimensions;
  std::size_t groups;
  std::vector<float> values;
  std::vector<float> half_norms2;  // half the squared length of each row; infinite for rows that fill a group
};

struct Nearest {
  std::uint32_t row;
  // Half the squared distance, less half the squared length of the row that was searched for.
  float score;
};

// Finds the nearest of the table's rows for each of these; the first of several at the same distance. The
// result does not depend on the width of vectors, except for rounding where the machine has no fused
// multiply-add.
void find_nearest(const RowTable& table, std::span<const float* const> rows, Nearest* nearest);

// The scores of all rows of the table; infinite for those that only fill a group.
void find_scores(const RowTable& table, const float* row, float* scores);

}  // namespace stipple
