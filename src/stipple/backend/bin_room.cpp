// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/bin_room.h"

#include <algorithm>

#include "stipple/backend/view.h"
#include "stipple/core/error.h"

namespace stipple {

namespace {

constexpr std::size_t kMargin = std::size_t{1} << 14;
constexpr std::uint64_t kMaxPairs = (std::uint64_t{1} << 31) - (1 << 16);  // counts are 32-bit

std::size_t with_slack(std::uint64_t count) {
  return static_cast<std::size_t>(std::min(count + count / 8 + kMargin, kMaxPairs));
}

}  // namespace

BinRoom with_slack(const BinRoom& needed) {
  return {with_slack(needed.splats), with_slack(needed.gaussians), with_slack(needed.pairs), true};
}

BinRoom room_needed(std::uint32_t splats, std::uint32_t gaussians, std::uint64_t pairs) {
  if (pairs >= kMaxPairs)
    throw Error(
        "the view has too many pairs of Gaussian and tile (about 2^31); use fewer Gaussians or a lower "
        "resolution");
  return {splats, gaussians, static_cast<std::size_t>(pairs), true};
}

std::optional<BinRoom> RoomPredictor::predict(int view_id) const {
  if (view_id == kNoView) return std::nullopt;
  const auto id = static_cast<std::size_t>(view_id);
  if (id < needed_by_view.size() && needed_by_view[id].is_known) return with_slack(needed_by_view[id]);
  return first.is_known ? std::optional(first) : std::nullopt;
}

void RoomPredictor::remember(int view_id, const BinRoom& needed) {
  if (view_id == kNoView) return;
  const auto id = static_cast<std::size_t>(view_id);
  if (needed_by_view.size() <= id) needed_by_view.resize(id + 1);
  needed_by_view[id] = needed;
}

}  // namespace stipple
