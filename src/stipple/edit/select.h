// SPDX-License-Identifier: Apache-2.0
#pragma once
// Some of the Gaussians of a model.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "stipple/core/gaussians.h"

namespace stipple {

// Reduces an array of rows with `per_row` elements to the given rows, in their order. An empty array, which
// stands for one that is not in use, stays empty.
template <class T>
void keep_rows(std::span<const std::uint32_t> rows, int per_row, std::vector<T>& array) {
  if (array.empty()) return;
  const auto n = static_cast<std::size_t>(per_row);
  std::vector<T> kept(rows.size() * n);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::copy_n(array.data() + rows[i] * n, n, kept.data() + i * n);
  array = std::move(kept);
}

// Reduces a model to the Gaussians with these indices, in their order, and so can also sort it. One array is
// copied at a time, so that a large model does not have to fit into memory twice.
void keep_rows(std::span<const std::uint32_t> rows, Gaussians& gaussians);

// The Gaussians with these indices.
Gaussians select(const Gaussians& gaussians, std::span<const std::uint32_t> rows);

}  // namespace stipple
