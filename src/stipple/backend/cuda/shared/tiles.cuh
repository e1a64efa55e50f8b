// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tiles that a splat touches, by rows of tiles; the lanes of a warp share the work on splats with many
// rows.
//
// project counts the tiles that bin then writes, so both must find exactly the same ones. The two files are
// therefore compiled without contraction to fused multiply-adds (see src/stipple/CMakeLists.txt): every
// operation is then rounded separately, wherever it is inlined.
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/cuda_pass.h"
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

__device__ inline M::Footprint footprint_of(const ProjectedSplat& p) {
  const auto* from = reinterpret_cast<const float4*>(&p);
  const float4 a = from[0], b = from[1], c = from[2], d = from[3];
  M::Footprint f;
  f.mean_px = Vec2f(a.x, a.y);
  f.conic = Vec3f(a.z, a.w, b.x);
  f.opacity = b.y;
  f.depth = c.z;
  f.half_extent_px = Vec2f(c.w, d.x);
  return f;
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

// What project tells bin about all splats: the sums over a block, and from these those over the view.
struct BlockTotals {
  unsigned pairs, gaussians;

  __device__ void begin() {  // by all threads, before a __syncthreads()
    if (threadIdx.x == 0) pairs = gaussians = 0;
  }
  __device__ void add(unsigned tiles) {  // by whole warps: the tiles of each lane's splat
    const unsigned warp_pairs = sum_over_warp(tiles);
    const unsigned warp_gaussians = __popc(__ballot_sync(kAllLanes, tiles > 0));
    if (lane_index() != 0 || warp_pairs == 0) return;
    atomicAdd(&pairs, warp_pairs);
    atomicAdd(&gaussians, warp_gaussians);
  }
  __device__ void finish(ViewStatus* status) const {  // by all threads, after a __syncthreads()
    if (threadIdx.x != 0 || pairs == 0) return;
    atomicAdd(&status->pair_count, static_cast<unsigned long long>(pairs));
    atomicAdd(&status->gaussian_count, gaussians);
  }
};

// The key by which bin sorts a splat.
__device__ inline unsigned depth_key_of(unsigned tiles, float depth) {
  return tiles > 0 ? __float_as_uint(depth) : 0xffffffffu;
}

// Calls write(tile, place, splat) for every tile of every lane's splat. Tiles are counted from the band's
// first row, places from the lane's `first`.
template <class F>
__device__ void for_each_tile(const TileSearch& search, unsigned splat, int column_count, int first_row,
                              unsigned first, F write) {
  const auto write_row = [&](unsigned of, int row, M::TileRange c, unsigned at) {
    const int row_begin = (row - first_row) * column_count;
    for (int column = c.begin; column < c.end; ++column) write(row_begin + column, at++, of);
  };
  unsigned at = first;
  const int alone = min(search.row_count(), kRowsAlone);
  for (int i = 0; i < alone; ++i) {
    const M::TileRange c = search.columns(search.rows.begin + i, column_count);
    write_row(splat, search.rows.begin + i, c, at);
    at += length(c);
  }
  for (unsigned tall = __ballot_sync(kAllLanes, search.row_count() > kRowsAlone); tall; tall &= tall - 1) {
    const int owner = __ffs(static_cast<int>(tall)) - 1;
    const TileSearch shared = broadcast(search, owner);
    const unsigned of = __shfl_sync(kAllLanes, splat, owner);
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
