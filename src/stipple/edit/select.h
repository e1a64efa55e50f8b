// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some of the Gaussians of a model.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/core/gaussians.h"

namespace stipple {

// The given rows of an array with `per_row` elements in each, in their order.
template <class T>
std::vector<T> select(const std::vector<T>& array, std::span<const std::uint32_t> rows, int per_row) {
  const auto n = static_cast<std::size_t>(per_row);
  std::vector<T> selected(rows.size() * n);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(array.data() + rows[i] * n, n, selected.data() + i * n);
  return selected;
}

// Reduces an array to the given rows. An empty array, which stands for one that is not in use, stays empty.
template <class T>
void keep_rows(std::span<const std::uint32_t> rows, int per_row, std::vector<T>& array) {
  if (!array.empty()) array = select(array, rows, per_row);
}

// Reduces a model to the Gaussians with these indices, in their order, and so can also sort it. One array is
// copied at a time, so that a large model does not have to fit into memory twice.
void keep_rows(std::span<const std::uint32_t> rows, Gaussians& gaussians);

// The Gaussians with these indices.
Gaussians select(const Gaussians& gaussians, std::span<const std::uint32_t> rows);

}  // namespace stipple
