// SPDX-License-Identifier: Apache-2.0
// bin: lists the splats that each tile must draw, nearest first.
//
// The splats that touch a tile are selected and sorted by depth. In that order, one pair is written for
// every tile that they touch. A stable sort by tile, on just the bits that tile indices have, then leaves
// each tile's splats nearest first. All steps preserve the storage order of equal depths.
//
// Memory must be allocated before the host knows how much is needed. If the capacity is too small, no pairs
// are written and the status says so: the caller must run the pass again with a larger capacity.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <bit>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <limits>
#include <mutex>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/tiles.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 256;

// What project has counted.
struct Totals {
  const ViewStatus* status;
  unsigned row_capacity;  // of the splats

  __device__ bool touches_tile(std::uint32_t splat, const std::uint32_t* depth_key) const {
    return splat < written_rows(status, row_capacity) && depth_key[splat] != 0xffffffffu;
  }
  // The splats that touch a tile; none if project had no room for all splats.
  __device__ unsigned picked() const {
    return status->splat_count > row_capacity ? 0 : status->gaussian_count;
  }
  __device__ bool fit(unsigned gaussian_capacity, unsigned pair_capacity) const {
    return status->splat_count <= row_capacity && status->gaussian_count <= gaussian_capacity &&
           status->pair_count <= pair_capacity;
  }
};

struct TouchesTile {
  const std::uint32_t* depth_key;
  Totals totals;
  __device__ bool operator()(std::uint32_t splat) const { return totals.touches_tile(splat, depth_key); }
};

// Depth keys of the selected splats; the rest of the capacity gets keys that sort to the end.
__global__ void __launch_bounds__(kThreads)
    depths_kernel(const std::uint32_t* depth_key, Totals totals, unsigned capacity, std::uint32_t* splat,
                  std::uint32_t* key) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= capacity) return;
  const bool is_picked = i < totals.picked();
  key[i] = is_picked ? depth_key[splat[i]] : 0xffffffffu;
  if (!is_picked) splat[i] = 0;
}

struct CountOf {  // the tile count of the splat at this rank in depth order
  const std::uint32_t* tile_count;
  Totals totals;
  const std::uint32_t* order;
  __device__ std::uint32_t operator()(std::uint32_t rank) const {
    return rank < totals.picked() ? tile_count[order[rank]] : 0;
  }
};

template <class Key>
struct EmitOutput {
  Key* tile;
  std::uint32_t* splat;
  PairRange* pairs_from_splat;  // or null
  unsigned gaussian_capacity, pair_capacity;
  ViewStatus* status;
};

// A warp's pairs are contiguous: they are collected here and then written together.
template <class Key>
struct WarpPairs {
  static constexpr unsigned kMost = 512;
  Key tile[kMost];
  std::uint32_t splat[kMost];
};

template <class Key>
__global__ void __launch_bounds__(kThreads)
    emit_kernel(const ProjectedSplat* splats, const std::uint32_t* tile_count, const std::uint32_t* order,
                const std::uint32_t* first_from_rank, int columns, TileRows band, Totals totals,
                EmitOutput<Key> out) {
  __shared__ WarpPairs<Key> all_pairs[kThreads / kWarp];
  WarpPairs<Key>& pairs = all_pairs[threadIdx.x / kWarp];
  const unsigned rank = blockIdx.x * kThreads + threadIdx.x;
  const bool too_many = !totals.fit(out.gaussian_capacity, out.pair_capacity);
  if (rank == 0) out.status->has_overflowed = too_many;
  if (too_many) return;  // pad_kernel then empties the lists
  unsigned splat = 0, first = 0, count = 0;
  TileSearch search;
  search.rows.begin = search.rows.end = 0;
  if (rank < totals.picked()) {
    splat = order[rank];
    first = first_from_rank[rank];
    count = tile_count[splat];
    if (out.pairs_from_splat) out.pairs_from_splat[splat] = {first, first + count};
    search = TileSearch(footprint_of(splats[splat]), splats[splat].log2_opacity, band);
  }
  const unsigned warp_first = __shfl_sync(kAllLanes, first, 0), warp_count = sum_over_warp(count);
  if (warp_count > pairs.kMost) {
    for_each_tile(search, splat, columns, band.begin, first, [&](int tile, unsigned at, unsigned of) {
      out.tile[at] = static_cast<Key>(tile);
      out.splat[at] = of;
    });
    return;
  }
  for_each_tile(search, splat, columns, band.begin, first - warp_first,
                [&](int tile, unsigned at, unsigned of) {
                  pairs.tile[at] = static_cast<Key>(tile);
                  pairs.splat[at] = of;
                });
  __syncwarp();
  for (unsigned i = static_cast<unsigned>(lane_index()); i < warp_count; i += kWarp) {
    out.tile[warp_first + i] = pairs.tile[i];
    out.splat[warp_first + i] = pairs.splat[i];
  }
}

// Fills the unused capacity with a tile index that sorts behind all tiles.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    pad_kernel(const ViewStatus* status, unsigned capacity, Key no_tile, Key* tile, std::uint32_t* splat) {
  const unsigned first = status->has_overflowed ? 0 : static_cast<unsigned>(status->pair_count);
  for (unsigned i = first + blockIdx.x * kThreads + threadIdx.x; i < capacity; i += gridDim.x * kThreads) {
    tile[i] = no_tile;
    splat[i] = 0;
  }
}

__global__ void __launch_bounds__(kThreads) count_up_kernel(std::uint32_t* to, unsigned count) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) to[i] = i;
}

// Where each tile's slots begin and, if pair indices were sorted, which splat each slot holds.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    slots_kernel(const Key* tile, const std::uint32_t* pair_from_slot, const std::uint32_t* splat_from_pair,
                 unsigned capacity, unsigned tile_count, std::uint32_t* slot_begin,
                 std::uint32_t* splat_from_slot) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= capacity) return;
  const unsigned mine = tile[i], first_tile = i == 0 ? 0 : tile[i - 1] + 1u;
  for (unsigned t = first_tile; t <= mine; ++t) slot_begin[t] = i;
  if (i + 1 == capacity)
    for (unsigned t = mine + 1; t <= tile_count; ++t) slot_begin[t] = capacity;
  if (pair_from_slot && mine < tile_count) splat_from_slot[i] = splat_from_pair[pair_from_slot[i]];
}

// The scratch bytes that a CUB call needs.
template <class Call>
std::size_t scratch_of(Call call, std::size_t items) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes, items), "query the scratch size of a sort");
  return bytes;
}

}  // namespace

template <class Key>
void CudaBackend::bin_with_keys(const BinRoom& room, Pass& pass) {
  CudaPass& mine = own(pass);
  TileBins& out = pass.bins;
  const ProjectedSplat* splats = pointer(pass.projection.splat);
  const auto count = static_cast<unsigned>(pass.projection.splat.size());
  const auto gaussians = static_cast<unsigned>(room.gaussians), pairs = static_cast<unsigned>(room.pairs);
  const unsigned tile_count = static_cast<unsigned>(out.column_count) * static_cast<unsigned>(out.row_count);
  constexpr int kKeyBits = 8 * sizeof(Key);
  const int tile_bits = std::bit_width(tile_count);  // tile_count itself means no tile
  ViewStatus* status = mine.view_status();
  const Totals totals{status, count};

  std::uint32_t *picked = nullptr, *picked_count = nullptr, *key = nullptr, *sorted_key = nullptr,
                *order = nullptr, *first = nullptr, *splat = nullptr, *pair_index = nullptr;
  Key *tile = nullptr, *sorted_tile = nullptr;
  const auto pick = [&](void* scratch, std::size_t& bytes, std::size_t n) {
    return cub::DeviceSelect::If(scratch, bytes, thrust::make_counting_iterator(0u), picked, picked_count,
                                 static_cast<int>(n), TouchesTile{pointer(mine.depth_key), totals}, stream());
  };
  const auto sort_by_depth = [&](void* scratch, std::size_t& bytes, std::size_t n) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, key, sorted_key, picked, order,
                                           static_cast<int>(n), 0, 32, stream());
  };
  const auto add_up = [&](void* scratch, std::size_t& bytes, std::size_t n) {
    return cub::DeviceScan::ExclusiveSum(
        scratch, bytes,
        thrust::make_transform_iterator(thrust::make_counting_iterator(0u),
                                        CountOf{pointer(mine.tile_count), totals, order}),
        first, static_cast<int>(n), stream());
  };
  const auto sort_by_tile = [&](void* scratch, std::size_t& bytes, std::size_t n) {
    return cub::DeviceRadixSort::SortPairs(
        scratch, bytes, tile, sorted_tile, deterministic_ ? pair_index : splat,
        deterministic_ ? pointer(mine.pair_from_slot) : pointer(out.splat_from_slot), static_cast<int>(n), 0,
        scratch ? tile_bits : kKeyBits, stream());
  };
  const std::size_t cub_bytes = [&] {
    const std::lock_guard lock(cub_mutex_);
    // The query takes longer than a small sort, so it asks for somewhat more than is needed now, and for a
    // sort on all bits of the keys.
    if (sizeof(Key) != cub_.key_bytes || count > cub_.room.splats || gaussians > cub_.room.gaussians ||
        pairs > cub_.room.pairs) {
      const auto grown = [](std::size_t before, std::size_t now) {
        constexpr std::size_t kMost = std::numeric_limits<int>::max();
        return now > before ? std::min(now + now / 4, kMost) : before;
      };
      cub_.key_bytes = sizeof(Key);
      cub_.room.splats = grown(cub_.room.splats, count);
      cub_.room.gaussians = grown(cub_.room.gaussians, gaussians);
      cub_.room.pairs = grown(cub_.room.pairs, pairs);
      cub_.bytes =
          std::max({scratch_of(pick, cub_.room.splats), scratch_of(sort_by_depth, cub_.room.gaussians),
                    scratch_of(add_up, cub_.room.gaussians), scratch_of(sort_by_tile, cub_.room.pairs)});
    }
    return cub_.bytes;
  }();
  const auto words = [](std::size_t n) { return Arena::padded(n * sizeof(std::uint32_t)); };
  mine.arena.begin(words(std::max(count, gaussians)) + words(1) + 4 * words(gaussians) +
                   (deterministic_ ? 2 : 1) * words(pairs) + 2 * Arena::padded(pairs * sizeof(Key)) +
                   Arena::padded(cub_bytes));
  picked = mine.arena.take<std::uint32_t>(std::max(count, gaussians));
  picked_count = mine.arena.take<std::uint32_t>(1);
  key = mine.arena.take<std::uint32_t>(gaussians);
  sorted_key = mine.arena.take<std::uint32_t>(gaussians);
  order = mine.arena.take<std::uint32_t>(gaussians);
  first = mine.arena.take<std::uint32_t>(gaussians);
  splat = mine.arena.take<std::uint32_t>(pairs);
  if (deterministic_) pair_index = mine.arena.take<std::uint32_t>(pairs);
  tile = mine.arena.take<Key>(pairs);
  sorted_tile = mine.arena.take<Key>(pairs);
  void* scratch = mine.arena.take_bytes(cub_bytes);

  std::size_t bytes = cub_bytes;
  check(pick(scratch, bytes, count), "select splats");
  depths_kernel<<<blocks_for(gaussians, kThreads), kThreads, 0, stream()>>>(pointer(mine.depth_key), totals,
                                                                            gaussians, picked, key);
  check(sort_by_depth(scratch, bytes = cub_bytes, gaussians), "sort by depth");
  check(add_up(scratch, bytes = cub_bytes, gaussians), "sum the tile counts");
  emit_kernel<Key><<<blocks_for(gaussians, kThreads), kThreads, 0, stream()>>>(
      splats, pointer(mine.tile_count), order, first, out.column_count,
      TileRows{out.first_row, out.first_row + out.row_count}, totals,
      EmitOutput<Key>{tile, splat, pointer(mine.pairs_from_splat), gaussians, pairs, status});
  constexpr unsigned kPadBlocks = 256;
  pad_kernel<Key>
      <<<kPadBlocks, kThreads, 0, stream()>>>(status, pairs, static_cast<Key>(tile_count), tile, splat);
  if (deterministic_)
    count_up_kernel<<<blocks_for(pairs, kThreads), kThreads, 0, stream()>>>(pair_index, pairs);
  check(sort_by_tile(scratch, bytes = cub_bytes, pairs), "sort by tile");
  slots_kernel<Key><<<blocks_for(pairs, kThreads), kThreads, 0, stream()>>>(
      sorted_tile, pointer(mine.pair_from_slot), splat, pairs, tile_count, pointer(out.slot_begin_from_tile),
      pointer(out.splat_from_slot));
  check(cudaGetLastError(), "launch bin");
}

void CudaBackend::bin_into(const View& view, const BinRoom& room, Pass& pass) {
  CudaPass& mine = own(pass);
  TileBins& out = pass.bins;
  const std::size_t count = pass.projection.splat.size();
  out.column_count = tile_columns_of(view.camera);
  const TileRows band = tile_rows_of(view);
  out.first_row = band.begin;
  out.row_count = band.end - band.begin;
  const std::size_t tile_count = static_cast<std::size_t>(out.column_count) * out.row_count;
  out.slot_begin_from_tile.resize(*this, tile_count + 1);
  out.splat_from_slot.resize(*this, room.pairs);
  mine.pair_from_slot.resize(*this, deterministic_ ? room.pairs : 0);
  mine.pairs_from_splat.resize(*this, deterministic_ ? count : 0);
  // Splats that touch no tile have no pairs.
  if (deterministic_ && count > 0) fill_zero(*mine.pairs_from_splat.memory(), count * sizeof(PairRange));
  if (room.pairs == 0 || count == 0) {
    fill_zero(*out.slot_begin_from_tile.memory(), (tile_count + 1) * sizeof(std::uint32_t));
    return;
  }
  if (tile_count < 0xffff)
    bin_with_keys<std::uint16_t>(room, pass);
  else
    bin_with_keys<std::uint32_t>(room, pass);
}

void CudaBackend::bin(const View& view, Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  bin_into(view, room_for(mine, view), pass);
  if (!mine.keeps_scratch()) mine.arena.release();
  mine.events.record(Stage::kBin, stream());
}

}  // namespace stipple::cuda
