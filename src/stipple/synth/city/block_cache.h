// SPDX-License-Identifier: Apache-2.0
#pragma once
// Blocks are made when a ray first enters them, and forgotten when others need their room.
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "stipple/synth/city/block.h"

namespace stipple::synth::city {

// Any number of threads may use it. A block that is in use lives on when the cache forgets it.
class BlockCache {
 public:
  BlockCache(std::uint64_t seed, std::size_t capacity) : seed_(seed), slots_(capacity) {}

  std::shared_ptr<const Block> at(Place place);

  std::size_t made_count() const { return made_count_; }  // more than there are blocks if some were forgotten

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<const Block> block;
  };

  std::uint64_t seed_;
  std::vector<Slot> slots_;
  std::atomic<std::size_t> made_count_{0};
};

// The blocks that one thread has met last: finds them without a lock.
class BlockWindow {
 public:
  explicit BlockWindow(BlockCache& cache) : cache_(cache) {}

  // Valid until the next call.
  const std::shared_ptr<const Block>& at(Place place) {
    std::shared_ptr<const Block>& block =
        blocks_[static_cast<std::size_t>((place.x & (kSide - 1)) + kSide * (place.y & (kSide - 1)))];
    if (!block || block->place != place) block = cache_.at(place);
    return block;
  }

 private:
  static constexpr int kSide = 8;  // a power of two

  BlockCache& cache_;
  std::array<std::shared_ptr<const Block>, kSide * kSide> blocks_;
};

}  // namespace stipple::synth::city
