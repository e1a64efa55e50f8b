// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace stipple::cpu {

struct SortScratch {
  std::vector<std::uint64_t> a, b;
};

// The stable order of these depths: result[k] = depth << 32 | index of the k-th smallest. The result lives in
// scratch.
std::span<const std::uint64_t> sort_by_depth(std::span<const std::uint32_t> depth, SortScratch& scratch);

}  // namespace stipple::cpu
