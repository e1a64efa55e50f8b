// SPDX-License-Identifier: Apache-2.0
// What bin needs to know of every splat and of all of them: counts of tiles, keys of depth, and their sums in the status.
// Include it after VIEW_PARAMETERS and the buffer `status`.
shared uint group_pairs;
shared uint group_gaussians;

uint count_tiles(Footprint f, float log2_opacity) {
  float tau = splat_tau(log2_opacity);
  TileRange rows = rows_of_tiles(f, row_begin, row_end);
  uint tiles = 0u;
  for (int row = rows.begin; row < rows.end; ++row) tiles += length_of(tile_columns(f, tau, row, column_count));
  return tiles;
}

uint depth_key_of(uint tiles, float depth) { return tiles > 0u ? floatBitsToUint(depth) : 0xffffffffu; }

void begin_totals(uint thread) {  // before a barrier()
  if (thread == 0) group_pairs = group_gaussians = 0u;
}

void add_to_totals(uint tiles) {
  if (tiles == 0u) return;
  atomicAdd(group_pairs, tiles);
  atomicAdd(group_gaussians, 1u);
}

void finish_totals(uint thread) {  // after a barrier()
  if (thread != 0 || group_pairs == 0u) return;
  uint before = atomicAdd(status[kPairsLow], group_pairs);
  if (before + group_pairs < before) atomicAdd(status[kPairsHigh], 1u);
  atomicAdd(status[kGaussians], group_gaussians);
}
