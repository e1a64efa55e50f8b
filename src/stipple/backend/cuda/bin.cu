// SPDX-License-Identifier: Apache-2.0
// bin: which splats each tile must draw, nearest first.
//
// All Gaussians are sorted by depth, the culled ones to the end; in that order their tiles are written out,
// one pair of tile and emission each; a stable sort by tile, with just the bits that tiles have, leaves every
// tile's splats nearest first. Radix sorts are stable, so ties keep the order of storage.
//
// Room for pairs must be there before their number is known to the host. What there is no room for is not
// written, and the status says so: whoever asked must ask again with more.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include <bit>

#include "stipple/backend/cuda/chunk.h"
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/tiles.cuh"

namespace stipple {

namespace {

constexpr int kThreads = 256;
constexpr std::uint64_t kMaxPairs = std::uint64_t{1} << 31;  // emissions are 32-bit, and CUB counts in int

__global__ void count_up_kernel(std::uint32_t* to, unsigned count) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) to[i] = i;
}

struct CountOf {  // the tiles of the Gaussian at a place in the order of depth
  const std::uint32_t* tile_count;
  __device__ std::uint32_t operator()(std::uint32_t gaussian) const { return tile_count[gaussian]; }
};

__device__ M::Footprint footprint_of(const ProjectedSplat& p) {
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

template <class Key>
struct EmitOutput {
  Key* tile;
  std::uint32_t* gaussian;
  TileBins::Emissions* emissions;
  unsigned capacity;
  StepStatus* status;
};

template <class Key>
__global__ void __launch_bounds__(kThreads)
    emit_kernel(const ProjectedSplat* splats, const std::uint32_t* tile_count, const std::uint32_t* order,
                const std::uint32_t* first_from_rank, unsigned count, int columns, int rows,
                const unsigned long long* pair_count, EmitOutput<Key> out) {
  const unsigned rank = blockIdx.x * kThreads + threadIdx.x;
  const bool too_many = *pair_count > out.capacity;
  if (rank == 0) out.status->has_overflowed = too_many;
  unsigned gaussian = 0, first = 0;
  TileSearch search;
  search.rows.begin = search.rows.end = 0;
  if (rank < count) {
    gaussian = order[rank];
    first = first_from_rank[rank];
    const unsigned tiles = tile_count[gaussian];
    out.emissions[gaussian] = {first, first + tiles};
    if (tiles > 0) search = TileSearch(footprint_of(splats[gaussian]), splats[gaussian].log2_opacity, rows);
  }
  if (too_many) return;  // the next kernels see no pairs at all
  for_each_tile(search, gaussian, columns, first, [&](int tile, unsigned at, unsigned owner) {
    out.tile[at] = static_cast<Key>(tile);
    out.gaussian[at] = owner;
  });
}

// Emissions are numbered as they were written; what is left of the room gets a tile behind all others.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    number_kernel(const unsigned long long* pair_count, unsigned capacity, Key no_tile, Key* tile,
                  std::uint32_t* emission) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= capacity) return;
  emission[i] = i;
  if (i >= *pair_count || *pair_count > capacity) tile[i] = no_tile;
}

// Where each tile's slots begin, and whose they are.
template <class Key>
__global__ void __launch_bounds__(kThreads)
    slots_kernel(const Key* tile, const std::uint32_t* emission, const std::uint32_t* gaussian_from_emission,
                 unsigned capacity, unsigned tile_count, std::uint32_t* slot_begin,
                 std::uint32_t* gaussian_from_slot) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= capacity) return;
  const unsigned mine = tile[i], first_tile = i == 0 ? 0 : tile[i - 1] + 1u;
  for (unsigned t = first_tile; t <= mine; ++t) slot_begin[t] = i;
  if (i + 1 == capacity)
    for (unsigned t = mine + 1; t <= tile_count; ++t) slot_begin[t] = capacity;
  if (mine < tile_count) gaussian_from_slot[i] = gaussian_from_emission[emission[i]];
}

constexpr int kChunkThreads = 1024;

// One block: the chunks after each tile's first, counted through the tiles.
__global__ void __launch_bounds__(kChunkThreads)
    chunks_kernel(const std::uint32_t* slot_begin, unsigned tile_count, std::uint32_t* chunk_begin,
                  std::uint32_t* tile_from_chunk) {
  __shared__ std::uint32_t warp_sum[kChunkThreads / kWarp];
  std::uint32_t before = 0;  // chunks of the tiles that are done
  for (unsigned first = 0; first < tile_count; first += kChunkThreads) {
    const unsigned tile = first + threadIdx.x;
    const unsigned slots = tile < tile_count ? slot_begin[tile + 1] - slot_begin[tile] : 0;
    const unsigned chunks = slots > 0 ? (slots - 1) / kChunk : 0;
    unsigned through = chunks;
    for (int offset = 1; offset < kWarp; offset *= 2) {
      const unsigned lower = __shfl_up_sync(kAllLanes, through, offset);
      if (lane_index() >= offset) through += lower;
    }
    if (lane_index() == kWarp - 1) warp_sum[threadIdx.x / kWarp] = through;
    __syncthreads();
    unsigned warps_before = 0, all = 0;
    for (unsigned w = 0; w < kChunkThreads / kWarp; ++w) {
      if (w < threadIdx.x / kWarp) warps_before += warp_sum[w];
      all += warp_sum[w];
    }
    const unsigned begin = before + warps_before + through - chunks;
    if (tile < tile_count) chunk_begin[tile] = begin;
    for (unsigned c = 0; c < chunks; ++c) tile_from_chunk[begin + c] = tile;
    before += all;
    __syncthreads();
  }
  if (threadIdx.x == 0) chunk_begin[tile_count] = before;
}

// What one call of CUB's wants as scratch.
template <class Call>
std::size_t scratch_of(Call call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes), "plan a sort");
  return bytes;
}

}  // namespace

template <class Key>
void CudaBackend::bin_with_keys(const Projection& projection, std::size_t capacity, TileBins& out) {
  const auto count = static_cast<unsigned>(projection.splat.size());
  const auto room = static_cast<unsigned>(capacity);
  const unsigned tile_count = static_cast<unsigned>(out.column_count) * static_cast<unsigned>(out.row_count);
  const int tile_bits = std::bit_width(tile_count);  // tile_count itself stands for none

  std::uint32_t *depth = nullptr, *order = nullptr, *identity = nullptr, *first = nullptr, *gaussian = nullptr,
                *emission = nullptr;
  Key *tile = nullptr, *sorted_tile = nullptr;
  const auto sort_by_depth = [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, pointer(projection.depth_key), depth, identity, order,
                                           static_cast<int>(count), 0, 32, stream());
  };
  const auto add_up = [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(
        scratch, bytes, thrust::make_transform_iterator(order, CountOf{pointer(projection.tile_count)}), first,
        static_cast<int>(count), stream());
  };
  const auto sort_by_tile = [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, tile, sorted_tile, emission, pointer(out.emission_from_slot),
                                           static_cast<int>(room), 0, tile_bits, stream());
  };
  const std::size_t cub_bytes =
      std::max({scratch_of(sort_by_depth), scratch_of(add_up), scratch_of(sort_by_tile)});
  const std::size_t per_gaussian = Arena::padded(count * sizeof(std::uint32_t)),
                    per_pair = Arena::padded(room * sizeof(std::uint32_t)), keys = Arena::padded(room * sizeof(Key));
  arena_.begin(4 * per_gaussian + 2 * per_pair + 2 * keys + Arena::padded(cub_bytes));
  depth = arena_.take<std::uint32_t>(count);
  order = arena_.take<std::uint32_t>(count);
  identity = arena_.take<std::uint32_t>(count);
  first = arena_.take<std::uint32_t>(count);
  gaussian = arena_.take<std::uint32_t>(room);
  emission = arena_.take<std::uint32_t>(room);
  tile = arena_.take<Key>(room);
  sorted_tile = arena_.take<Key>(room);
  void* scratch = arena_.take_bytes(cub_bytes);

  count_up_kernel<<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(identity, count);
  std::size_t bytes = cub_bytes;
  check(sort_by_depth(scratch, bytes), "sort by depth");
  check(add_up(scratch, bytes = cub_bytes), "add up tiles");
  number_kernel<Key><<<blocks_for(room, kThreads), kThreads, 0, stream()>>>(
      pointer(projection.pair_count), room, static_cast<Key>(tile_count), tile, emission);
  emit_kernel<Key><<<blocks_for(count, kThreads), kThreads, 0, stream()>>>(
      pointer(projection.splat), pointer(projection.tile_count), order, first, count, out.column_count, out.row_count,
      pointer(projection.pair_count),
      EmitOutput<Key>{tile, gaussian, pointer(out.emissions_from_gaussian), room, status()});
  check(sort_by_tile(scratch, bytes = cub_bytes), "sort by tile");
  slots_kernel<Key><<<blocks_for(room, kThreads), kThreads, 0, stream()>>>(
      sorted_tile, pointer(out.emission_from_slot), gaussian, room, tile_count, pointer(out.slot_begin_from_tile),
      pointer(out.gaussian_from_slot));
  chunks_kernel<<<1, kChunkThreads, 0, stream()>>>(pointer(out.slot_begin_from_tile), tile_count,
                                                   pointer(out.chunk_begin_from_tile), pointer(out.tile_from_chunk));
  check(cudaGetLastError(), "start bin");
}

void CudaBackend::bin_into(const Projection& projection, const View& view, std::size_t capacity, TileBins& out) {
  out.column_count = tile_columns_of(view.camera);
  out.row_count = tile_rows_of(view.camera);
  const std::size_t tile_count = static_cast<std::size_t>(out.column_count) * out.row_count;
  out.emissions_from_gaussian.resize(*this, projection.splat.size());
  out.slot_begin_from_tile.resize(*this, tile_count + 1);
  out.chunk_begin_from_tile.resize(*this, tile_count + 1);
  out.tile_from_chunk.resize(*this, max_chunk_count(capacity) + 1);
  out.gaussian_from_slot.resize(*this, capacity);
  out.emission_from_slot.resize(*this, capacity);
  if (capacity == 0 || projection.splat.empty()) {
    fill_zero(*out.slot_begin_from_tile.memory(), (tile_count + 1) * sizeof(std::uint32_t));
    fill_zero(*out.chunk_begin_from_tile.memory(), (tile_count + 1) * sizeof(std::uint32_t));
    if (!projection.splat.empty())
      fill_zero(*out.emissions_from_gaussian.memory(), projection.splat.size() * sizeof(TileBins::Emissions));
    return;
  }
  if (tile_count < 0xffff)
    bin_with_keys<std::uint16_t>(projection, capacity, out);
  else
    bin_with_keys<std::uint32_t>(projection, capacity, out);
}

// Here the host may wait: it asks for the number of pairs first, and there is room for just those.
void CudaBackend::bin(const Projection& projection, const View& view, TileBins& out) {
  const std::uint64_t pairs = projection.pair_count.download(*this)[0];
  if (pairs >= kMaxPairs)
    throw Error(
        "this view is too heavy: more than 2^31 pairs of Gaussian and tile; use fewer Gaussians or fewer "
        "pixels");
  bin_into(projection, view, static_cast<std::size_t>(pairs), out);
}

}  // namespace stipple
