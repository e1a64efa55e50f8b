// SPDX-License-Identifier: Apache-2.0
// bin: one pair for every tile that a splat touches, in order of depth; one thread per splat. The whole work group
// shares the work on splats with many rows of tiles.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/tile_search.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"
#include "stipple/backend/vulkan/shared/group_scan.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const bool in_fixed_order = false;
layout(std430, binding = 0) readonly buffer Parameters {
  int column_count;
  int row_begin;
  int row_end;
};
layout(std430, binding = 1) readonly buffer Plan { uint plan[]; };
layout(std430, binding = 2) readonly buffer TileCounts { uint tile_count[]; };
layout(std430, binding = 3) readonly buffer Order { uint splat_from_rank[]; };
layout(std430, binding = 4) readonly buffer Firsts { uint first_from_rank[]; };
layout(std430, binding = 5) writeonly buffer PairRanges { uvec2 pairs_from_splat[]; };
READ_SPLIT(vec4, splat, 6, VECTOR_SHIFT)
WRITE_SPLIT(uint, tile, 10, WORD_SHIFT)
WRITE_SPLIT(uint, gaussian, 14, WORD_SHIFT)

const int kRowsAlone = 8;  // a thread handles splats with up to so many rows by itself

shared uint tall_rank[256];
shared uint tall_count;

Footprint footprint_from(uint i) {
  return footprint_of(load_splat(4u * i), load_splat(4u * i + 1u), load_splat(4u * i + 2u), load_splat(4u * i + 3u));
}

// project has counted the tiles with the same operations; should a driver round them differently after all, no pair
// is written outside the splat's own.
void write_row(uint i, int row, TileRange columns, inout uint at, uint end) {
  for (int column = columns.begin; column < columns.end && at < end; ++column) {
    store_tile(at, uint((row - row_begin) * column_count + column));
    store_gaussian(at++, i);
  }
}

void fill_up(uint i, uint at, uint end) {
  for (; at < end; ++at) {
    store_tile(at, 0u);
    store_gaussian(at, i);
  }
}

void emit_alone(uint i, Footprint f, float tau, TileRange rows, uint at, uint end) {
  for (int row = rows.begin; row < rows.end; ++row) write_row(i, row, tile_columns(f, tau, row, column_count), at, end);
  fill_up(i, at, end);
}

// One row per thread.
void emit_together(uint i, Footprint f, float tau, TileRange rows, uint at, uint end) {
  for (int begin = rows.begin; begin < rows.end; begin += 256) {
    int row = begin + int(thread_index());
    TileRange columns;
    columns.begin = columns.end = 0;
    if (row < rows.end) columns = tile_columns(f, tau, row, column_count);
    uint total;
    uint mine = at + exclusive_scan(length_of(columns), total);
    write_row(i, row, columns, mine, end);
    at = min(at + total, end);
  }
  if (gl_LocalInvocationIndex == 0u) fill_up(i, at, end);
}

void main() {
  uint splats = plan[kPlanGaussians];
  for (uint group = gl_WorkGroupID.x; group * 256u < splats; group += gl_NumWorkGroups.x) {
    barrier();
    if (gl_LocalInvocationIndex == 0u) tall_count = 0u;
    barrier();
    uint rank = group * 256u + gl_LocalInvocationIndex;
    if (rank < splats) {
      uint i = splat_from_rank[rank];
      uint first = first_from_rank[rank];
      uint end = first + tile_count[i];
      if (in_fixed_order) pairs_from_splat[i] = uvec2(first, end);
      Footprint f = footprint_from(i);
      TileRange rows = rows_of_tiles(f, row_begin, row_end);
      if (rows.end - rows.begin > kRowsAlone)
        tall_rank[atomicAdd(tall_count, 1u)] = rank;
      else
        emit_alone(i, f, splat_tau(load_splat(4u * i + 3u).y), rows, first, end);
    }
    barrier();
    for (uint k = 0u; k < tall_count; ++k) {
      uint i = splat_from_rank[tall_rank[k]];
      uint first = first_from_rank[tall_rank[k]];
      Footprint f = footprint_from(i);
      emit_together(i, f, splat_tau(load_splat(4u * i + 3u).y), rows_of_tiles(f, row_begin, row_end), first,
                    first + tile_count[i]);
    }
  }
}
