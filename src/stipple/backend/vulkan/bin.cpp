// SPDX-License-Identifier: Apache-2.0
// bin: lists the splats that each tile must draw, nearest first.
//
// The splats that touch a tile are selected and sorted by depth. In that order, one pair is written for
// every tile that they touch. A stable sort by tile, on just the bits that tile indices have, then leaves
// each tile's splats nearest first. All steps preserve the storage order of equal depths. Sorting pairs by
// tile and depth at once would have to move every pair, of which a Gaussian has about five, once for every
// eight bits of its depth.
//
// Memory must be allocated before the host knows how much is needed. If the capacity is too small, no pairs
// are written and the status says so: the caller must run the pass again with a larger capacity.
#include <bit>

#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

constexpr std::uint32_t kTouching = 0, kTiles = 1, kCounters = 2, kRows = 3;  // as in shared/scan_source.glsl
constexpr std::uint32_t kDigitBits = 8, kDepthBits = 31;                      // depths are positive
constexpr std::size_t kArguments = 3;  // where a plan's arguments begin

std::size_t arguments_at(int which) { return kArguments + 3 * static_cast<std::size_t>(which); }

std::size_t counters_for(std::size_t items) { return 256 * groups_for(items, kSortBlock); }

struct ScanParameters {
  std::uint32_t row_block_count, sorts_pairs;
};

}  // namespace

// A prefix sum over `direct_items` items or, if that is 0, as many as the plan says.
void VulkanBackend::scan(std::uint32_t what, Pass& pass, std::size_t direct_items, int indirect,
                         const DeviceArray<std::uint32_t>* order, DeviceArray<std::uint32_t>* counters,
                         bool sorts_pairs) {
  VulkanPass& mine = own(pass);
  BinScratch& bin = mine.bin;
  const ScanParameters parameters{0, sorts_pairs};
  const auto kernel = [&](const char* name) {
    KernelRun k = run(with_subgroups(name));
    k.constants({what}).bind(mine.plan).bind(mine.tile_count).bind(order).bind(counters).bind(bin.block_sums);
    return k;
  };
  const auto start = [&](KernelRun&& k) {
    if (direct_items > 0)
      k.run(parameters, std::min(groups_for(direct_items, kScanBlock), Commands::kMostGroups));
    else
      k.run_indirect(parameters, mine.plan, arguments_at(indirect));
  };
  start(kernel("scan_reduce"));
  kernel("scan_spine").run(parameters, 1);
  start(std::move(
      kernel("scan_apply").bind(mine.depth_key).bind(bin.gaussians.key[0]).bind(bin.gaussians.value[0])));
}

// VisibleBlock::first_row of every block.
void VulkanBackend::scan_rows(VulkanPass& pass, DeviceArray<VisibleBlock>& visible) {
  const std::size_t groups = groups_for(visible.size(), kScanBlock);
  pass.row_sums.resize(*this, groups);
  const ScanParameters parameters{static_cast<std::uint32_t>(visible.size()), false};
  const auto kernel = [&](const char* name) {
    KernelRun k = run(with_subgroups(name));
    const Binding none{};
    k.constants({kRows}).bind(none).bind(none).bind(none).bind(visible).bind(pass.row_sums);
    return k;
  };
  kernel("scan_reduce").run(parameters, std::min(groups, Commands::kMostGroups));
  kernel("scan_spine").run(parameters, 1);
  kernel("scan_apply")
      .bind(Binding{})
      .bind(Binding{})
      .bind(Binding{})
      .run(parameters, std::min(groups, Commands::kMostGroups));
}

// Sorts on `bits` bits from `shift` on, from one pair of arrays to the other; the values go to
// `sorted_value`.
void VulkanBackend::sort_pass(SortArrays& arrays, int from, DeviceArray<std::uint32_t>& sorted_value,
                              std::uint32_t shift, std::uint32_t bits, bool sorts_pairs, Pass& pass) {
  VulkanPass& mine = own(pass);
  const struct { std::uint32_t shift, bit_count, sorts_pairs; } parameters{shift, bits, sorts_pairs};
  const std::size_t blocks = arguments_at(sorts_pairs ? kPairSort : kGaussianSort);
  run("sort_count")
      .bind(mine.plan)
      .bind(mine.bin.counters)
      .split(arrays.key[from])
      .run_indirect(parameters, mine.plan, blocks);
  scan(kCounters, pass, 0, sorts_pairs ? kPairCounters : kGaussianCounters, nullptr, &mine.bin.counters,
       sorts_pairs);
  run(with_subgroups("sort_scatter"))
      .bind(mine.plan)
      .bind(mine.bin.counters)
      .split(arrays.key[from])
      .split(arrays.value[from])
      .split(arrays.key[1 - from])
      .split(sorted_value)
      .run_indirect(parameters, mine.plan, blocks);
}

void VulkanBackend::select_by_depth(const BinRoom& room, Pass& pass) {
  VulkanPass& mine = own(pass);
  SortArrays& arrays = mine.bin.gaussians;
  for (int i = 0; i < 2; ++i) {
    arrays.key[i].resize(*this, room.gaussians);
    arrays.value[i].resize(*this, room.gaussians);
  }
  scan(kTouching, pass, pass.projection.splat.size(), 0, nullptr, nullptr, false);
  int from = 0;
  for (std::uint32_t shift = 0; shift < kDepthBits; shift += kDigitBits, from = 1 - from)
    sort_pass(arrays, from, arrays.value[1 - from], shift, std::min(kDigitBits, kDepthBits - shift), false,
              pass);
  static_assert((kDepthBits + kDigitBits - 1) / kDigitBits % 2 == 0,
                "the result must be in the first arrays");
}

void VulkanBackend::bin_into(const View& view, const BinRoom& room, Pass& pass) {
  VulkanPass& mine = own(pass);
  BinScratch& bin = mine.bin;
  TileBins& out = pass.bins;
  const std::size_t count = pass.projection.splat.size();
  out.column_count = tile_columns_of(view.camera);
  const TileRows band = tile_rows_of(view);
  out.first_row = band.begin;
  out.row_count = band.end - band.begin;
  const std::size_t tile_count =
      static_cast<std::size_t>(out.column_count) * static_cast<std::size_t>(out.row_count);
  out.slot_begin_from_tile.resize_zero(*this, tile_count + 1);  // the lists are empty unless slots fills them
  out.splat_from_slot.resize(*this, room.pairs);
  mine.slot_from_pair.resize(*this, deterministic_ ? room.pairs : 0);
  if (deterministic_) mine.pairs_from_splat.resize_zero(*this, count);  // others touch no tile
  if (room.pairs == 0 || count == 0) return;

  mine.plan.resize(*this, kPlanWords);
  bin.counters.resize(*this, std::max(counters_for(room.gaussians), counters_for(room.pairs)));
  bin.block_sums.resize(*this, groups_for(std::max({count, bin.counters.size()}), kScanBlock));
  const struct {
    std::uint32_t splats, gaussians, pairs;
  } capacity{static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(room.gaussians),
             static_cast<std::uint32_t>(room.pairs)};
  run("bin_plan").bind(status_of(mine)).bind(mine.plan).run(capacity, 1);
  select_by_depth(room, pass);
  const DeviceArray<std::uint32_t>& order = bin.gaussians.value[0];
  bin.first_from_rank.resize(*this, room.gaussians);
  scan(kTiles, pass, 0, kGaussianScan, &order, &bin.first_from_rank, false);

  for (int i = 0; i < 2; ++i) {
    bin.pairs.key[i].resize(*this, room.pairs);
    bin.pairs.value[i].resize(*this, room.pairs);
  }
  bin.splat_from_pair.resize(*this, deterministic_ ? room.pairs : 0);
  bin.pair_from_slot.resize(*this, deterministic_ ? room.pairs : 0);
  const struct { std::int32_t columns, row_begin, row_end; } tiles{out.column_count, band.begin, band.end};
  run(with_subgroups("emit"))
      .constants({deterministic_})
      .bind(mine.plan)
      .bind(mine.tile_count)
      .bind(order)
      .bind(bin.first_from_rank)
      .bind(mine.pairs_from_splat)
      .split(pass.projection.splat)
      .split(bin.pairs.key[0])
      .split(deterministic_ ? bin.splat_from_pair : bin.pairs.value[0])
      .run_indirect(tiles, mine.plan, arguments_at(kGaussians));
  const struct { std::uint32_t unused = 0; } nothing;
  if (deterministic_)
    run("count_up")
        .bind(mine.plan)
        .split(bin.pairs.value[0])
        .run_indirect(nothing, mine.plan, arguments_at(kPairs));

  DeviceArray<std::uint32_t>& sorted = deterministic_ ? bin.pair_from_slot : out.splat_from_slot;
  const auto tile_bits =
      static_cast<std::uint32_t>(std::max(1, static_cast<int>(std::bit_width(tile_count - 1))));
  int from = 0;
  for (std::uint32_t shift = 0; shift < tile_bits; shift += kDigitBits, from = 1 - from) {
    const bool is_last = shift + kDigitBits >= tile_bits;
    sort_pass(bin.pairs, from, is_last ? sorted : bin.pairs.value[1 - from], shift,
              std::min(kDigitBits, tile_bits - shift), true, pass);
  }
  const struct { std::uint32_t tile_count; } parameters{static_cast<std::uint32_t>(tile_count)};
  run("slots")
      .constants({deterministic_})
      .bind(mine.plan)
      .bind(out.slot_begin_from_tile)
      .split(bin.pairs.key[from])
      .split(bin.pair_from_slot)
      .split(bin.splat_from_pair)
      .split(out.splat_from_slot)
      .split(mine.slot_from_pair)
      .run_indirect(parameters, mine.plan, arguments_at(kPairs));
}

void VulkanBackend::bin(const View& view, Pass& pass) {
  VulkanPass& mine = own(pass);
  bin_into(view, room_for(mine, view), pass);
  if (!mine.keeps_scratch()) mine.bin = {};
  mine.queries.record(Stage::kBin);
}

}  // namespace stipple::vulkan
