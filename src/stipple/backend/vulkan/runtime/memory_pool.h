// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of one type of a device. Drivers limit the number of allocations and take long for each, so that
// small ones share blocks, and blocks that have become empty are kept for a while.
#include <cstdint>
#include <list>
#include <map>

#include "stipple/backend/vulkan/runtime/api.h"

namespace stipple::vulkan {

class MemoryPool {
 public:
  struct Block {
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize bytes = 0;
    std::byte* mapped = nullptr;
    std::map<VkDeviceSize, VkDeviceSize> free;  // size by offset
  };
  struct Range {
    std::list<Block>::iterator block;
    VkDeviceSize offset = 0, bytes = 0;

    VkDeviceMemory memory() const { return block->memory; }
    std::byte* mapped() const { return block->mapped + offset; }  // only if the pool is mapped
  };

  MemoryPool(VkDevice device, std::uint32_t type, VkDeviceSize block_bytes, bool is_mapped)
      : device_(device), type_(type), block_bytes_(block_bytes), is_mapped_(is_mapped) {}
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  std::uint32_t type() const { return type_; }
  // Returns VK_SUCCESS and sets `range`, or returns the driver's error.
  VkResult allocate(const VkMemoryRequirements& needed, Range& range);
  void free(const Range& range);

 private:
  static constexpr VkDeviceSize kMostKeptBytes = VkDeviceSize{128} << 20;  // in empty blocks

  bool is_shared(const Block& block) const { return block.bytes == block_bytes_; }
  static bool is_empty(const Block& block) {
    return block.free.size() == 1 && block.free.begin()->second == block.bytes;
  }
  bool may_hold(const Block& block, VkDeviceSize bytes) const;
  bool take(std::list<Block>::iterator block, const VkMemoryRequirements& needed, Range& range);
  void release_empty(VkDeviceSize most_kept);
  VkResult add_block(VkDeviceSize bytes);
  void release(std::list<Block>::iterator block);

  VkDevice device_;
  std::uint32_t type_;
  VkDeviceSize block_bytes_;
  bool is_mapped_;
  std::list<Block> blocks_;
};

}  // namespace stipple::vulkan
