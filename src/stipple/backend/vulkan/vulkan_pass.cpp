// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/vulkan_pass.h"

#include <algorithm>
#include <cassert>

#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

VulkanPass& VulkanBackend::own(Pass& pass) const {
  if (!pass.scratch) pass.scratch = std::make_unique<VulkanPass>(context_);
  return static_cast<VulkanPass&>(*pass.scratch);
}

void VulkanBackend::begin_pass(VulkanPass& pass, int view_count) {
  pass.view_count = 0;  // stays 0 if the allocation fails, so that the next view begins a new pass
  pass.view_ids.clear();
  if (view_count == 0) return;
  pass.status.resize_zero(*this, static_cast<std::size_t>(view_count));
  pass.view_count = view_count;
}

void VulkanBackend::begin(Pass& pass, int view_count) {
  begin_pass(own(pass), view_count);
  own(pass).queries.begin();
}

void VulkanBackend::begin_view(VulkanPass& pass, const View& view) {
  assert(view.id >= kNoView);
  if (pass.view_ids.size() >= static_cast<std::size_t>(pass.view_count)) {
    begin_pass(pass, 1);
    pass.queries.stop();
  }
  // The views of a batch are submitted one by one: a desktop's watchdog may count the time of a submission.
  if (!pass.view_ids.empty()) Commands(*context_).start();
  pass.view_ids.push_back(view.id);
}

PassResult VulkanBackend::read(Pass& pass) {
  VulkanPass& mine = own(pass);
  if (mine.view_count == 0) return {};
  const std::vector<ViewStatus> status = mine.status.download(*this);
  PassResult result;
  for (std::size_t v = 0; v < mine.view_ids.size(); ++v) {
    result.views.push_back({status[v].loss, camera_gradient(status[v].camera), status[v].background,
                            status[v].splat_count, static_cast<std::size_t>(status[v].pair_count())});
    result.is_finite = result.is_finite && !status[v].is_bad;
    result.has_overflowed = result.has_overflowed || status[v].has_overflowed;
    mine.rooms.remember(mine.view_ids[v],
                        room_needed(status[v].splat_count, status[v].gaussian_count, status[v].pair_count()));
  }
  mine.rooms.overflow_count += result.has_overflowed;
  result.ms = mine.queries.read();
  return result;
}

std::size_t VulkanBackend::rows_for(VulkanPass& pass, const View& view,
                                    const DeviceArray<VisibleBlock>& visible, std::size_t gaussians) {
  if (const std::optional<BinRoom> predicted = pass.rooms.predict(view.id))
    return std::min(predicted->splats, gaussians);
  VisibleBlock last;
  Commands(*context_).download(*memory_of(visible.memory()), (visible.size() - 1) * sizeof(last),
                               std::as_writable_bytes(std::span(&last, 1)));
  return last.end_row();
}

void VulkanBackend::release(Pass& pass) {
  auto empty = std::make_unique<VulkanPass>(context_);
  if (pass.scratch) empty->rooms = std::move(own(pass).rooms);
  pass = {};
  pass.scratch = std::move(empty);
}

BinRoom VulkanBackend::room_for(VulkanPass& pass, const View& view) {
  if (const std::optional<BinRoom> predicted = pass.rooms.predict(view.id)) return *predicted;
  ViewStatus status;
  Commands(*context_).download(*memory_of(pass.status.memory()), pass.view_index() * sizeof(ViewStatus),
                               std::as_writable_bytes(std::span(&status, 1)));
  return room_needed(status.splat_count, status.gaussian_count, status.pair_count());
}

Pass VulkanBackend::copy_of(const Pass& from) {
  Pass to;
  copy_public(*this, from, to);
  if (!from.scratch) return to;
  const auto& theirs = static_cast<const VulkanPass&>(*from.scratch);
  VulkanPass& mine = own(to);
  mine.tile_count = theirs.tile_count.copy(*this);
  mine.depth_key = theirs.depth_key.copy(*this);
  mine.slot_from_pair = theirs.slot_from_pair.copy(*this);
  mine.pairs_from_splat = theirs.pairs_from_splat.copy(*this);
  mine.chunks = {theirs.chunks.count.copy(*this), theirs.chunks.chunks.copy(*this),
                 theirs.chunks.checkpoint.copy(*this), theirs.chunks.slot_end_from_tile.copy(*this),
                 theirs.chunks.has_fourth};
  mine.sums = theirs.sums.copy(*this);
  mine.sums_are_pending = theirs.sums_are_pending;
  mine.sums_have_absolute = theirs.sums_have_absolute;
  mine.status = theirs.status.copy(*this);
  mine.view_count = theirs.view_count;
  mine.view_ids = theirs.view_ids;
  return to;
}

// The arrays of all stages.
std::size_t VulkanBackend::pass_bytes(const PassSize& size) const {
  constexpr std::size_t kWord = sizeof(std::uint32_t), kSumBytes = kSumFields * sizeof(float);
  constexpr std::size_t kSortBytes = 4 * kWord;  // two arrays of keys and values
  const BinRoom room = with_slack(BinRoom{size.visible, size.visible, size.pairs, true});
  const std::size_t rows = std::min(room.splats, size.gaussians);
  const std::size_t tiles = size.pixels / kTilePixels + 1;
  const std::size_t splat_bytes = sizeof(Splat) + (size.has_absolute ? sizeof(Vec2f) : 0);
  const std::size_t row_bytes =
      sizeof(ProjectedSplat) + 2 * kWord + (deterministic_ ? sizeof(PairRange) + splat_bytes : kSumBytes);
  const std::size_t pair_bytes = kWord + kSortBytes + (deterministic_ ? 3 * kWord + kSumBytes : 0);
  const std::size_t chunk_bytes = sizeof(Chunk) + (size.has_depth ? 5 : 4) * kTilePixels * sizeof(float);
  const std::size_t counter_bytes =
      256 * groups_for(std::max(room.gaussians, room.pairs), kSortBlock) * kWord;
  const std::size_t pixel_bytes = (3 + 1 + 3 + 9 + (size.has_depth ? 3 : 0)) * sizeof(float);
  return visible_block_count(size.gaussians) * sizeof(VisibleBlock) + rows * row_bytes +
         room.gaussians * (kSortBytes + kWord) + room.pairs * pair_bytes + room.pairs / kChunk * chunk_bytes +
         counter_bytes + size.pixels * pixel_bytes + tiles * 2 * kWord;
}

}  // namespace stipple::vulkan
