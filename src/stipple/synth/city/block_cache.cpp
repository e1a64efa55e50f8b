// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/block_cache.h"

namespace stipple::synth::city {

std::shared_ptr<const Block> BlockCache::at(Place place) {
  const auto x = static_cast<std::uint64_t>(place.x), y = static_cast<std::uint64_t>(place.y);
  Slot& slot = slots_[hash_bits(x << 32 | y) % slots_.size()];
  const std::scoped_lock lock(slot.mutex);
  if (!slot.block || slot.block->place != place) {
    slot.block = std::make_shared<const Block>(make_block(seed_, place));
    ++made_count_;
  }
  return slot.block;
}

}  // namespace stipple::synth::city
