// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/vulkan_pass.h"

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
    result.views.push_back({status[v].loss, camera_gradient(status[v].camera), status[v].background});
    result.is_finite = result.is_finite && !status[v].is_bad;
    result.has_overflowed = result.has_overflowed || status[v].has_overflowed;
    mine.rooms.remember(mine.view_ids[v], room_needed(status[v].gaussian_count, status[v].pair_count()));
  }
  mine.rooms.overflow_count += result.has_overflowed;
  result.ms = mine.queries.read();
  return result;
}

BinRoom VulkanBackend::room_for(VulkanPass& pass, const View& view) {
  if (const std::optional<BinRoom> predicted = pass.rooms.predict(view.id)) return *predicted;
  ViewStatus status;
  Commands(*context_).download(*memory_of(pass.status.memory()), pass.view_index() * sizeof(ViewStatus),
                               std::as_writable_bytes(std::span(&status, 1)));
  return room_needed(status.gaussian_count, status.pair_count());
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
  mine.pairs_from_gaussian = theirs.pairs_from_gaussian.copy(*this);
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

// Per Gaussian, its splat and sums, the memory to sort it, and about five pairs with the memory to sort them
// and, if the order of sums is fixed, their sums. Per pixel, the frame, its gradient, the derivatives of the
// loss, and the checkpoints of tiles with many slots.
std::size_t VulkanBackend::pass_bytes(std::size_t gaussians, std::size_t pixels) const {
  constexpr std::size_t kPairs = 5, kSums = 48, kPairBytes = 24, kGaussianBytes = 32, kPixelBytes = 100;
  const std::size_t sums = deterministic_ ? kPairs * (kSums + 12) : kSums;
  return gaussians * (sizeof(ProjectedSplat) + sizeof(Splat) + sizeof(Vec2f) + kGaussianBytes +
                      kPairs * kPairBytes + sums) +
         pixels * kPixelBytes;
}

}  // namespace stipple::vulkan
