// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace stipple::cpu {

struct SortScratch {
  std::vector<std::uint64_t> a, b;
};

// Sorts the depths stably: result[k] = depth << 32 | index of the k-th smallest. It points into `scratch`.
std::span<const std::uint64_t> sort_by_depth(std::span<const std::uint32_t> depth, SortScratch& scratch);

}  // namespace stipple::cpu
