// SPDX-License-Identifier: Apache-2.0
// What the three kernels of a prefix sum over the whole device add up: reduce sums blocks of 1,024 items, spine scans
// these sums, and apply scans each block from there on.
layout(constant_id = 2) const uint what = 0;
const uint kTouching = 0;  // 1 for each splat that touches a tile: selects them
const uint kTiles = 1;     // the tile counts in depth order: numbers the pairs
const uint kCounters = 2;  // the counters of a radix sort, in place
const uint kRows = 3;      // the shown Gaussians of each block (VisibleBlock in pass.h): numbers them

layout(std430, binding = 0) readonly buffer Parameters {
  uint row_block_count;  // for kRows
  uint sorts_pairs;  // the counters are those of the pairs
};
layout(std430, binding = 1) readonly buffer Plan { uint plan[]; };
layout(std430, binding = 2) readonly buffer TileCounts { uint tile_count[]; };
layout(std430, binding = 3) readonly buffer Order { uint splat_from_rank[]; };
layout(std430, binding = 4) buffer Counters { uint counter[]; };
layout(std430, binding = 5) buffer BlockSums { uint block_sum[]; };

uint item_count() {
  if (what == kRows) return row_block_count;
  if (what == kTouching) return plan[kPlanSplats];
  if (what == kTiles) return plan[kPlanGaussians];
  uint sorted = plan[sorts_pairs != 0u ? kPlanPairs : kPlanGaussians];
  return 256u * ((sorted + kSortBlock - 1u) / kSortBlock);
}

uint block_count() { return (item_count() + kScanBlock - 1u) / kScanBlock; }

uint item(uint i) {
  if (i >= item_count()) return 0u;
  if (what == kRows) return uint(bitCount(counter[2u * i]));
  if (what == kTouching) return tile_count[i] > 0u ? 1u : 0u;
  if (what == kTiles) return tile_count[splat_from_rank[i]];
  return counter[i];
}
