// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tiles that a splat touches, by rows of tiles; the lanes of a warp share the work on splats with many
// rows.
//
// project counts the tiles that bin then writes, so both must find exactly the same ones. The two files are
// therefore compiled without contraction to fused multiply-adds (see src/stipple/CMakeLists.txt): every
// operation is then rounded separately, wherever it is inlined.
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

constexpr int kRowsAlone = 4;  // a lane handles the first rows of its splat by itself

struct TileSearch {  // of one splat
  M::Footprint footprint;
  float tau;
  M::TileRange rows;

  TileSearch() = default;
  __device__ TileSearch(const M::Footprint& f, float log2_opacity, TileRows band)
      : footprint(f), tau(M::splat_tau(log2_opacity)), rows(M::tile_rows(f, band.end)) {
    rows.begin = max(rows.begin, band.begin);
  }

  __device__ int row_count() const { return rows.end > rows.begin ? rows.end - rows.begin : 0; }
  __device__ M::TileRange columns(int row, int column_count) const {
    return M::tile_columns(footprint, tau, row, column_count);
  }
};

__device__ inline int length(M::TileRange range) {
  return range.end > range.begin ? range.end - range.begin : 0;
}

template <class T>
__device__ inline T broadcast(const T& value, int lane) {
  static_assert(sizeof(T) % 4 == 0);
  T result;
  const auto* from = reinterpret_cast<const unsigned*>(&value);
  auto* to = reinterpret_cast<unsigned*>(&result);
#pragma unroll
  for (unsigned i = 0; i < sizeof(T) / 4; ++i) to[i] = __shfl_sync(kAllLanes, from[i], lane);
  return result;
}

// The number of tiles of each lane's splat. Called by whole warps; a lane without a splat passes no rows.
__device__ inline unsigned count_tiles(const TileSearch& search, int column_count) {
  unsigned count = 0;
  const int alone = min(search.row_count(), kRowsAlone);
  for (int i = 0; i < alone; ++i) count += length(search.columns(search.rows.begin + i, column_count));
  for (unsigned tall = __ballot_sync(kAllLanes, search.row_count() > kRowsAlone); tall; tall &= tall - 1) {
    const int owner = __ffs(static_cast<int>(tall)) - 1;
    const TileSearch shared = broadcast(search, owner);
    unsigned part = 0;
    for (int row = shared.rows.begin + kRowsAlone + lane_index(); row < shared.rows.end; row += kWarp)
      part += length(shared.columns(row, column_count));
    part = sum_over_warp(part);
    if (lane_index() == owner) count += part;
  }
  return count;
}

// Calls write(tile, place, gaussian) for every tile of every lane's splat. Tiles are counted from the band's
// first row, places from the lane's `first`.
template <class F>
__device__ void for_each_tile(const TileSearch& search, unsigned gaussian, int column_count, int first_row,
                              unsigned first, F write) {
  const auto write_row = [&](unsigned of, int row, M::TileRange c, unsigned at) {
    const int row_begin = (row - first_row) * column_count;
    for (int column = c.begin; column < c.end; ++column) write(row_begin + column, at++, of);
  };
  unsigned at = first;
  const int alone = min(search.row_count(), kRowsAlone);
  for (int i = 0; i < alone; ++i) {
    const M::TileRange c = search.columns(search.rows.begin + i, column_count);
    write_row(gaussian, search.rows.begin + i, c, at);
    at += length(c);
  }
  for (unsigned tall = __ballot_sync(kAllLanes, search.row_count() > kRowsAlone); tall; tall &= tall - 1) {
    const int owner = __ffs(static_cast<int>(tall)) - 1;
    const TileSearch shared = broadcast(search, owner);
    const unsigned of = __shfl_sync(kAllLanes, gaussian, owner);
    unsigned next = __shfl_sync(kAllLanes, at, owner);
    for (int begin = shared.rows.begin + kRowsAlone; begin < shared.rows.end; begin += kWarp) {
      const int row = begin + lane_index();
      M::TileRange c;
      c.begin = c.end = 0;
      if (row < shared.rows.end) c = shared.columns(row, column_count);
      unsigned through = length(c);  // sum over the lanes up to this one
      for (int offset = 1; offset < kWarp; offset *= 2) {
        const unsigned before = __shfl_up_sync(kAllLanes, through, offset);
        if (lane_index() >= offset) through += before;
      }
      write_row(of, row, c, next + through - length(c));
      next += __shfl_sync(kAllLanes, through, kWarp - 1);
    }
  }
}

}  // namespace stipple::cuda
