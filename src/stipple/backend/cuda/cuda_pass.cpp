// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/cuda_pass.h"

#include <cassert>

#include "stipple/backend/cuda/cuda_backend.h"

namespace stipple::cuda {

ViewStatus* CudaPass::view_status() { return pointer(status) + (view_ids.size() - 1); }

CudaPass& CudaBackend::own(Pass& pass) const {
  if (!pass.scratch) pass.scratch = std::make_unique<CudaPass>(context_);
  return static_cast<CudaPass&>(*pass.scratch);
}

void CudaBackend::begin_pass(CudaPass& pass, int view_count) {
  pass.view_count = 0;  // stays 0 if the allocation fails, so that the next view begins a new pass
  pass.view_ids.clear();
  if (view_count == 0) return;
  pass.status.resize_zero(*this, static_cast<std::size_t>(view_count));
  pass.view_count = view_count;
}

void CudaBackend::begin(Pass& pass, int view_count) {
  const DeviceGuard guard(*context_);
  begin_pass(own(pass), view_count);
  own(pass).events.begin(stream());
}

void CudaBackend::begin_view(CudaPass& pass, const View& view) {
  assert(view.id >= kNoView);
  if (pass.view_ids.size() >= static_cast<std::size_t>(pass.view_count)) {
    begin_pass(pass, 1);
    pass.events.stop();
  }
  pass.view_ids.push_back(view.id);
  pass.has_blended = false;
}

PassResult CudaBackend::read(Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  if (mine.view_count == 0) return {};
  const std::size_t bytes = mine.status.size() * sizeof(ViewStatus);
  const auto* status = static_cast<const ViewStatus*>(mine.host_status.at_least(bytes));
  check(
      cudaMemcpyAsync(mine.host_status.data(), pointer(mine.status), bytes, cudaMemcpyDeviceToHost, stream()),
      "download");
  context_->wait();
  PassResult result;
  for (std::size_t v = 0; v < mine.view_ids.size(); ++v) {
    result.views.push_back({status[v].loss, camera_gradient(status[v].camera), status[v].background});
    result.is_finite = result.is_finite && !status[v].is_bad;
    result.has_overflowed = result.has_overflowed || status[v].has_overflowed;
    mine.rooms.remember(mine.view_ids[v], room_needed(status[v].gaussian_count, status[v].pair_count));
  }
  mine.rooms.overflow_count += result.has_overflowed;
  result.ms = mine.events.read();
  return result;
}

BinRoom CudaBackend::room_for(CudaPass& pass, const View& view) {
  if (const std::optional<BinRoom> predicted = pass.rooms.predict(view.id)) return *predicted;
  ViewStatus status;
  check(cudaMemcpyAsync(&status, pass.view_status(), sizeof(status), cudaMemcpyDeviceToHost, stream()),
        "download");
  context_->wait();
  return room_needed(status.gaussian_count, status.pair_count);
}

Pass CudaBackend::copy_of(const Pass& from) {
  const DeviceGuard guard(*context_);
  Pass to;
  copy_public(*this, from, to);
  if (!from.scratch) return to;
  const auto& theirs = static_cast<const CudaPass&>(*from.scratch);
  CudaPass& mine = own(to);
  mine.tile_count = theirs.tile_count.copy(*this);
  mine.depth_key = theirs.depth_key.copy(*this);
  mine.pair_from_slot = theirs.pair_from_slot.copy(*this);
  mine.pairs_from_gaussian = theirs.pairs_from_gaussian.copy(*this);
  mine.chunks = {theirs.chunks.chunks.copy(*this), theirs.chunks.checkpoint.copy(*this),
                 theirs.chunks.slot_end_from_tile.copy(*this)};
  mine.status = theirs.status.copy(*this);
  mine.sums = theirs.sums.copy(*this);
  mine.sums_stride = theirs.sums_stride;
  mine.sums_stamp = theirs.sums_stamp;
  mine.sums_are_pending = theirs.sums_are_pending;
  mine.sums_have_fourth = theirs.sums_have_fourth;
  mine.sums_have_absolute = theirs.sums_have_absolute;
  mine.view_count = theirs.view_count;
  mine.view_ids = theirs.view_ids;
  mine.has_blended = theirs.has_blended;
  return to;
}

// Per Gaussian, about five pairs with their keys, the memory to sort them and, if the order of sums is fixed,
// their sums. Per pixel, the frame, its gradient, the derivatives of the loss, and the checkpoints of tiles
// with many slots.
std::size_t CudaBackend::pass_bytes(std::size_t gaussians, std::size_t pixels) const {
  constexpr std::size_t kPairs = 5, kBinningBytes = 120, kPixelBytes = 100;
  const std::size_t sums = deterministic_ ? kPairs * 64 : 0;
  return gaussians * (sizeof(ProjectedSplat) + sizeof(Splat) + sizeof(Vec2f) + kBinningBytes + sums) +
         pixels * kPixelBytes;
}

}  // namespace stipple::cuda
