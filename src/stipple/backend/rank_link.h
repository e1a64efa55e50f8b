// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// How arrays travel between the devices of the ranks that train one model: through the memory of the hosts,
// or directly from device to device, where every rank has a device that can do that (Backend::link()).
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "stipple/core/device.h"
#include "stipple/ranks/ranks.h"

namespace stipple {

// Every rank has one, and all call the same functions in the same order. They are ordered with the stages of
// the backend: what these have queued before is sent, and what they queue afterwards finds what has arrived.
class RankLink {
 public:
  RankLink(Device& device, Ranks& ranks) : device_(device), ranks_(ranks) {}
  virtual ~RankLink() = default;
  RankLink(const RankLink&) = delete;
  RankLink& operator=(const RankLink&) = delete;

  virtual std::string_view name() const = 0;  // human-readable: what the arrays travel over
  Ranks& ranks() const { return ranks_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }  // to other ranks, since this was made

  // to[r] goes to rank r. `joined` becomes what all ranks have sent to this one, in order of rank. Returns
  // how many elements each has sent.
  template <class T>
  std::vector<std::size_t> join(const std::vector<DeviceArray<T>>& to, DeviceArray<T>& joined) {
    std::vector<Block> blocks;
    for (const DeviceArray<T>& array : to) blocks.push_back(block(array));
    count_sent(blocks);
    std::vector<std::size_t> counts = join_blocks(blocks, [&](std::size_t bytes) {
      joined.resize(device_, bytes / sizeof(T));
      return joined.memory();
    });
    for (std::size_t& count : counts) count /= sizeof(T);
    return counts;
  }

  // The way back: of `joined`, the first counts[0] elements go to rank 0, the next ones to rank 1, and so on.
  // from[r], which has the size of what rank r sends, becomes that.
  template <class T>
  void split(const DeviceArray<T>& joined, std::span<const std::size_t> counts,
             std::vector<DeviceArray<T>>& from) {
    std::vector<Block> to, arriving;
    std::size_t begin = 0;
    for (const std::size_t count : counts) {
      to.push_back({const_cast<Memory*>(joined.memory()), begin * sizeof(T), count * sizeof(T)});
      begin += count;
    }
    for (DeviceArray<T>& array : from) arriving.push_back(block(array));
    count_sent(to);
    split_blocks(to, arriving);
  }

 protected:
  struct Block {  // of a device's memory; that which is sent is not changed
    Memory* memory;
    std::size_t begin, bytes;
  };
  using MakeRoom = std::function<Memory*(std::size_t bytes)>;

  // The blocks of `to` have memory of their own; those of split_blocks are parts of one, in order.
  virtual std::vector<std::size_t> join_blocks(std::span<const Block> to, const MakeRoom& room) = 0;
  virtual void split_blocks(std::span<const Block> to, std::span<const Block> from) = 0;

  Device& device() const { return device_; }

 private:
  template <class T>
  static Block block(const DeviceArray<T>& array) {
    return {const_cast<Memory*>(array.memory()), 0, array.size() * sizeof(T)};
  }
  void count_sent(std::span<const Block> to) {
    for (std::size_t r = 0; r < to.size(); ++r)
      if (static_cast<int>(r) != ranks_.rank()) sent_bytes_ += to[r].bytes;
  }

  Device& device_;
  Ranks& ranks_;
  std::uint64_t sent_bytes_ = 0;
};

// The link that every device has: through the host's memory, with Ranks::all_to_all().
std::unique_ptr<RankLink> make_host_link(Device& device, Ranks& ranks);

}  // namespace stipple
