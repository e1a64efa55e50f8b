// SPDX-License-Identifier: Apache-2.0
// bin: lists the splats of each tile, nearest first.
//
// Splats are processed in storage order, which is coherent in memory, in chunks. Each chunk counts its splats
// per tile; the counts determine where in each tile's list its entries begin, and it then writes them there.
// Finally each list is sorted stably by depth, so that ties keep the storage order. The result does not
// depend on the assignment of work to threads.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/cpu/shared/sort.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/bin.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/shared/lanes-inl.h"

#ifndef STIPPLE_BIN_ONCE
#define STIPPLE_BIN_ONCE
namespace stipple::cpu {

struct Span {  // consecutive tiles of one row that a splat touches
  std::uint32_t splat;
  std::uint16_t row, begin, end;
};

struct BinChunk {
  std::vector<Span> spans;
  std::vector<std::uint32_t> slot_from_tile;  // first the number of slots, then the next free slot
  std::uint64_t pair_count = 0;
};

}  // namespace stipple::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

using M = Math<float>;  // compiled for this target, where rounding is one instruction

M::Footprint footprint_of(const ProjectedSplat& p) {
  const Splat& s = p.splat;
  return {{s.mean_px.x, s.mean_px.y},
          {s.conic.x, s.conic.y, s.conic.z},
          s.opacity,
          p.depth,
          {p.half_extent_px.x, p.half_extent_px.y}};
}

// Finds the spans of splats [begin, end) and counts them per tile. At this point the emissions of every chunk
// are numbered from 0.
void count_chunk(std::span<const ProjectedSplat> splats, std::size_t begin, std::size_t end, int columns,
                 TileRows band, std::span<PairRange> emissions, BinChunk& chunk) {
  chunk.spans.clear();
  chunk.slot_from_tile.assign(static_cast<std::size_t>(columns) * (band.end - band.begin), 0);
  chunk.pair_count = 0;
  for (std::size_t i = begin; i < end; ++i) {
    const auto first_pair = static_cast<std::uint32_t>(chunk.pair_count);
    emissions[i] = {first_pair, first_pair};
    if (splats[i].splat.opacity == 0) continue;
    M::Footprint f = footprint_of(splats[i]);
    M::TileRange r = M::tile_rows(f, band.end);
    float tau = M::splat_tau(splats[i].log2_opacity);
    for (int row = std::max(r.begin, band.begin); row < r.end; ++row) {
      M::TileRange c = M::tile_columns(f, tau, row, columns);
      if (c.end <= c.begin) continue;
      chunk.spans.push_back({static_cast<std::uint32_t>(i), static_cast<std::uint16_t>(row - band.begin),
                             static_cast<std::uint16_t>(c.begin), static_cast<std::uint16_t>(c.end)});
      std::uint32_t* tile = &chunk.slot_from_tile[static_cast<std::size_t>(row - band.begin) * columns];
      for (int column = c.begin; column < c.end; ++column) ++tile[column];
      chunk.pair_count += static_cast<std::uint64_t>(c.end - c.begin);
    }
    emissions[i].end = static_cast<std::uint32_t>(chunk.pair_count);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(count_chunk);

namespace {

using M = Math<float>;

// Turns the chunks' counts into slots, ordered by tile and, within a tile, by chunk.
void place_chunks(std::span<BinChunk> chunks, std::span<std::uint32_t> slot_begin) {
  std::uint32_t next = 0;
  std::size_t tile_count = slot_begin.size() - 1;
  for (std::size_t tile = 0; tile < tile_count; ++tile) {
    slot_begin[tile] = next;
    for (BinChunk& chunk : chunks) {
      std::uint32_t count = chunk.slot_from_tile[tile];
      chunk.slot_from_tile[tile] = next;
      next += count;
    }
  }
  slot_begin[tile_count] = next;
}

void fill_chunk(std::span<const ProjectedSplat> splats, int columns, std::uint32_t first_pair,
                BinChunk& chunk, std::span<std::uint32_t> depth, std::span<UnsortedSlot> slots) {
  std::uint32_t emission = first_pair;
  for (const Span& span : chunk.spans) {
    // Positive floats sort like their bit patterns.
    std::uint32_t depth_bits = std::bit_cast<std::uint32_t>(splats[span.splat].depth);
    std::uint32_t* next = &chunk.slot_from_tile[static_cast<std::size_t>(span.row) * columns];
    for (int column = span.begin; column < span.end; ++column) {
      std::uint32_t slot = next[column]++;
      depth[slot] = depth_bits;
      slots[slot] = {emission++, span.splat};
    }
  }
}

}  // namespace

void CpuBackend::bin(const View& view, Pass& pass) {
  CpuPass& own = cpu_pass(pass);
  TileBins& out = pass.bins;
  auto splats = host(std::as_const(pass.projection.splat));
  out.column_count = tile_columns_of(view.camera);
  const TileRows band = tile_rows_of(view);
  out.first_row = band.begin;
  out.row_count = band.end - band.begin;
  std::size_t tile_count = static_cast<std::size_t>(out.column_count) * out.row_count;
  constexpr int kMostTiles = std::numeric_limits<decltype(Span::end)>::max();
  if (out.column_count > kMostTiles || out.row_count > kMostTiles)
    throw Error(fmt::format("an image of {} x {} pixels is too large; the limit is {} in width and height",
                            view.camera.width_px, view.camera.height_px, kMostTiles * M::tile_size_px));

  // The number of chunks depends on the splats alone. It is small, since each chunk keeps a count per tile.
  std::size_t chunk_size = std::max<std::size_t>(256, (splats.size() + 63) / 64);
  std::vector<BinChunk> chunks((splats.size() + chunk_size - 1) / chunk_size);
  own.pairs_from_splat.resize(*this, splats.size());
  auto emissions = host(own.pairs_from_splat);
  auto range = [&](std::size_t c) {
    return std::pair(c * chunk_size, std::min(splats.size(), (c + 1) * chunk_size));
  };
  auto count_one = HWY_DYNAMIC_DISPATCH(count_chunk);
  parallel_for(chunks.size(), [&](std::size_t c) {
    auto [begin, end] = range(c);
    count_one(splats, begin, end, out.column_count, band, emissions, chunks[c]);
  });

  std::vector<std::uint64_t> first_pair(chunks.size() + 1, 0);
  for (std::size_t c = 0; c < chunks.size(); ++c) first_pair[c + 1] = first_pair[c] + chunks[c].pair_count;
  if (first_pair.back() >= std::uint64_t{1} << 32)
    throw Error(
        "this view has more than 2^32 pairs of a Gaussian and a tile; use fewer Gaussians or fewer pixels");
  std::size_t pair_count = first_pair.back();

  out.slot_begin_from_tile.resize(*this, tile_count + 1);
  auto slot_begin = host(out.slot_begin_from_tile);
  place_chunks(chunks, slot_begin);

  own.unsorted_depth.resize(*this, pair_count);
  own.unsorted_slot.resize(*this, pair_count);
  out.splat_from_slot.resize(*this, pair_count);
  own.pair_from_slot.resize(*this, pair_count);
  auto depth = host(own.unsorted_depth);
  auto unsorted = host(own.unsorted_slot);
  parallel_for(chunks.size(), [&](std::size_t c) {
    auto first = static_cast<std::uint32_t>(first_pair[c]);
    auto [begin, end] = range(c);
    for (std::size_t i = begin; i < end; ++i)
      emissions[i] = {emissions[i].begin + first, emissions[i].end + first};
    fill_chunk(splats, out.column_count, first, chunks[c], depth, unsorted);
  });

  auto splat = host(out.splat_from_slot), emission = host(own.pair_from_slot);
  parallel_for(tile_count, [&](std::size_t tile) {
    std::size_t begin = slot_begin[tile], count = slot_begin[tile + 1] - begin;
    thread_local SortScratch scratch;
    std::span<const std::uint64_t> order = sort_by_depth(depth.subspan(begin, count), scratch);
    for (std::size_t k = 0; k < count; ++k) {
      const UnsortedSlot from = unsorted[begin + static_cast<std::uint32_t>(order[k])];
      splat[begin + k] = from.splat;
      emission[begin + k] = from.emission;
    }
  });
  own.clock.lap(Stage::kBin);
}

}  // namespace stipple::cpu
#endif
