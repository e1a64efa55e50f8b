// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cpu/shared/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>

#include "stipple/core/random.h"

namespace stipple::cpu {
namespace {

void expect_sorted(const std::vector<std::uint32_t>& depth) {
  SortScratch scratch;
  auto order = sort_by_depth(depth, scratch);
  std::vector<std::uint64_t> expected;
  for (std::size_t i = 0; i < depth.size(); ++i)
    expected.push_back(static_cast<std::uint64_t>(depth[i]) << 32 | i);
  std::sort(expected.begin(), expected.end());
  ASSERT_TRUE(std::equal(order.begin(), order.end(), expected.begin(), expected.end())) << depth.size();
}

TEST(SortByDepth, SortsListsOfAnySizeAndDistribution) {
  Random random(1);
  for (std::size_t n : {0, 1, 2, 31, 32, 33, 100, 5000}) {
    std::vector<std::uint32_t> any(n), depths(n), equal(n, 7), few(n), falling(n), outlier(n);
    for (std::size_t i = 0; i < n; ++i) {
      any[i] = static_cast<std::uint32_t>(random.bits());
      depths[i] = std::bit_cast<std::uint32_t>(0.5f + 20 * random.uniform());
      few[i] = static_cast<std::uint32_t>(random.below(3));
      falling[i] = static_cast<std::uint32_t>(n - i);
      // All but the first differ only in bits that the counting passes ignore.
      outlier[i] = i == 0 ? 0xfffffff0u : static_cast<std::uint32_t>(random.below(4096));
    }
    for (const auto& list : {any, depths, equal, few, falling, outlier}) expect_sorted(list);
  }
}

}  // namespace
}  // namespace stipple::cpu
