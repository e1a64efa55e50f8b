// SPDX-License-Identifier: Apache-2.0
// receive: what bin needs of splats that other ranks have projected; one thread per splat.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/tiles.cuh"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    receive_kernel(const ProjectedSplat* splats, unsigned count, int columns, TileRows band,
                   std::uint32_t* tile_count, std::uint32_t* depth_key, ViewStatus* status) {
  __shared__ BlockTotals totals;
  totals.begin();
  __syncthreads();
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  TileSearch search;
  search.rows.begin = search.rows.end = 0;
  if (i < count && splats[i].splat.opacity > 0)
    search = TileSearch(footprint_of(splats[i]), splats[i].log2_opacity, band);
  const unsigned tiles = count_tiles(search, columns);
  totals.add(tiles);
  if (i < count) {
    tile_count[i] = tiles;
    depth_key[i] = depth_key_of(tiles, splats[i].depth);
  }
  if (i == 0) status->splat_count = count;
  __syncthreads();
  totals.finish(status);
}

}  // namespace

void CudaBackend::receive(const View& view, const DeviceArray<ProjectedSplat>& splats, Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  begin_view(mine, view);
  pass.projection.splat = splats.copy(*this);
  pass.projection.visible.resize(*this, 0);
  mine.tile_count.resize(*this, splats.size());
  mine.depth_key.resize(*this, splats.size());
  if (splats.empty()) return;
  receive_kernel<<<blocks_for(splats.size(), kThreads), kThreads, 0, stream()>>>(
      pointer(pass.projection.splat), static_cast<unsigned>(splats.size()), tile_columns_of(view.camera),
      tile_rows_of(view), pointer(mine.tile_count), pointer(mine.depth_key), mine.view_status());
  check(cudaGetLastError(), "launch receive");
  mine.events.record(Stage::kExchange, stream());
}

}  // namespace stipple::cuda
