// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/cuda_pass.h"

#include <algorithm>
#include <cassert>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/chunk.h"

namespace stipple::cuda {

namespace {

constexpr std::size_t kSumFields = 12;  // of shared/splat_sums.cuh

}  // namespace

ViewStatus* CudaPass::view_status() { return pointer(status) + (view_ids.size() - 1); }

CudaPass& CudaBackend::own(Pass& pass) const {
  if (!pass.scratch) pass.scratch = std::make_unique<CudaPass>(context_);
  return static_cast<CudaPass&>(*pass.scratch);
}

void CudaBackend::begin_pass(CudaPass& pass, int view_count) {
  pass.fetched.work.join();
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
  mine.fetched.work.join();  // whoever changes the model from now on need not know of it
  if (mine.view_count == 0) return {};
  const std::size_t bytes = mine.status.size() * sizeof(ViewStatus);
  const auto* status = static_cast<const ViewStatus*>(mine.host_status.at_least(bytes));
  check(
      cudaMemcpyAsync(mine.host_status.data(), pointer(mine.status), bytes, cudaMemcpyDeviceToHost, stream()),
      "download");
  context_->wait();
  PassResult result;
  for (std::size_t v = 0; v < mine.view_ids.size(); ++v) {
    result.views.push_back({status[v].loss, camera_gradient(status[v].camera), status[v].background,
                            status[v].splat_count, static_cast<std::size_t>(status[v].pair_count)});
    result.is_finite = result.is_finite && !status[v].is_bad;
    result.has_overflowed = result.has_overflowed || status[v].has_overflowed;
    mine.rooms.remember(mine.view_ids[v],
                        room_needed(status[v].splat_count, status[v].gaussian_count, status[v].pair_count));
  }
  mine.rooms.overflow_count += result.has_overflowed;
  result.ms = mine.events.read();
  return result;
}

std::size_t CudaBackend::rows_for(CudaPass& pass, const View& view, const DeviceArray<VisibleBlock>& visible,
                                  std::size_t gaussians) {
  if (const std::optional<BinRoom> predicted = pass.rooms.predict(view.id))
    return std::min(predicted->splats, gaussians);
  VisibleBlock last;
  check(cudaMemcpyAsync(&last, pointer(visible) + (visible.size() - 1), sizeof(last), cudaMemcpyDeviceToHost,
                        stream()),
        "download");
  context_->wait();
  return last.end_row();
}

void CudaBackend::release(Pass& pass) {
  const DeviceGuard guard(*context_);
  auto empty = std::make_unique<CudaPass>(context_);
  if (pass.scratch) empty->rooms = std::move(own(pass).rooms);
  pass = {};
  pass.scratch = std::move(empty);
}

BinRoom CudaBackend::room_for(CudaPass& pass, const View& view) {
  if (const std::optional<BinRoom> predicted = pass.rooms.predict(view.id)) return *predicted;
  ViewStatus status;
  check(cudaMemcpyAsync(&status, pass.view_status(), sizeof(status), cudaMemcpyDeviceToHost, stream()),
        "download");
  context_->wait();
  return room_needed(status.splat_count, status.gaussian_count, status.pair_count);
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
  mine.pairs_from_splat = theirs.pairs_from_splat.copy(*this);
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

// A fraction of the memory, so that what they save in time does not cost many Gaussians.
std::size_t CudaBackend::most_coefficient_rows(int sh_degree) const {
  constexpr std::size_t kPart = 16;
  return context_->max_bytes() / kPart / (coefficient_floats(sh_degree) * sizeof(float));
}

void CudaBackend::keep_shown_coefficients(CudaPass& pass, std::size_t rows, int sh_degree) {
  const std::size_t kept = pass.may_copy_coefficients ? std::min(rows, most_coefficient_rows(sh_degree)) : 0;
  try {
    pass.shown_coefficients.resize(*this, kept * coefficient_floats(sh_degree));
  } catch (const OutOfMemory&) {  // then they are read in place
    pass.shown_coefficients.release();
  }
}

bool CudaBackend::release_copies(Pass& pass) {
  CudaPass& mine = own(pass);
  if (!mine.may_copy_coefficients || (mine.fetched.row.empty() && mine.shown_coefficients.empty()))
    return false;
  mine.fetched.work.join();
  mine.fetched.host_state = 0;
  mine.fetched.row.release();
  mine.fetched.visible.release();
  mine.shown_coefficients.release();
  mine.may_copy_coefficients = false;
  return true;
}

// The arrays of all stages, and the scratch memory of the stage that takes most.
std::size_t CudaBackend::pass_bytes(const PassSize& size) const {
  constexpr std::size_t kWord = sizeof(std::uint32_t);
  const BinRoom room = with_slack(BinRoom{size.visible, size.visible, size.pairs, true});
  const std::size_t rows = std::min(room.splats, size.gaussians);
  const std::size_t tiles = size.pixels / kTilePixels + 1, key_bytes = tiles < 0xffff ? 2 : 4;
  const auto if_deterministic = [&](std::size_t bytes) { return deterministic_ ? bytes : 0; };
  const auto fields = static_cast<std::size_t>(checkpoint_fields(size.has_depth));

  const std::size_t absolute_bytes = size.has_absolute ? sizeof(Vec2f) : 0;
  const std::size_t row_bytes =
      sizeof(ProjectedSplat) + 2 * kWord +
      (deterministic_ ? sizeof(PairRange) + sizeof(Splat) + absolute_bytes : kSumFields * sizeof(float));
  const std::size_t pair_bytes =
      kWord + if_deterministic(kWord + (kSumFields + (size.has_absolute ? 4 : 0)) * sizeof(float));
  const std::size_t chunk_bytes = sizeof(Chunk) + fields * kTilePixels * sizeof(float);
  const std::size_t pixel_bytes = (3 + 1 + 3 + (size.has_depth ? 3 : 0)) * sizeof(float);

  // CUB sorts with a second copy of keys and values. It is asked for up to a quarter more than that.
  const auto cub = [](std::size_t items, std::size_t bytes) { return items * bytes + items * bytes / 8; };
  const std::size_t bin = rows * kWord + room.gaussians * 4 * kWord +
                          room.pairs * (kWord + if_deterministic(kWord) + 2 * key_bytes) +
                          std::max(cub(room.gaussians, 2 * kWord), cub(room.pairs, kWord + key_bytes));
  const std::size_t loss = size.pixels * 9 * sizeof(float);
  const bool is_offloaded = size.harmonics == Place::kHost;
  const std::size_t blocks = (is_offloaded ? 2 : 1) * visible_block_count(size.gaussians);
  const std::size_t copied_rows =
      is_offloaded ? 2 * std::min(rows, most_coefficient_rows(size.sh_degree)) : 0;
  const std::size_t coefficients = copied_rows * coefficient_floats(size.sh_degree) * sizeof(float);
  return blocks * sizeof(VisibleBlock) + coefficients + rows * row_bytes + room.pairs * pair_bytes +
         max_chunk_count(room.pairs) * chunk_bytes + size.pixels * pixel_bytes + tiles * 2 * kWord +
         std::max(bin, loss);
}

}  // namespace stipple::cuda
