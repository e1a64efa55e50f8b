// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/runtime/memory_pool.h"

#include <algorithm>

namespace stipple::vulkan {

MemoryPool::~MemoryPool() {
  while (!blocks_.empty()) release(blocks_.begin());
}

// Small ranges share blocks of one size; a larger one has a block of its own, or a kept one that is not much
// larger.
bool MemoryPool::may_hold(const Block& block, VkDeviceSize bytes) const {
  if (bytes < block_bytes_) return is_shared(block);
  return is_empty(block) && block.bytes >= bytes && block.bytes - bytes <= bytes / 4;
}

VkResult MemoryPool::allocate(const VkMemoryRequirements& needed, Range& range) {
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block)
    if (may_hold(*block, needed.size) && take(block, needed, range)) return VK_SUCCESS;
  VkResult added = add_block(std::max(needed.size, block_bytes_));
  if (added != VK_SUCCESS) {
    release_empty(0);
    added = add_block(std::max(needed.size, block_bytes_));
  }
  if (added != VK_SUCCESS) return added;
  take(blocks_.begin(), needed, range);
  return VK_SUCCESS;
}

bool MemoryPool::take(std::list<Block>::iterator block, const VkMemoryRequirements& needed, Range& range) {
  for (auto hole = block->free.begin(); hole != block->free.end(); ++hole) {
    const auto [begin, size] = *hole;
    const VkDeviceSize at = (begin + needed.alignment - 1) / needed.alignment * needed.alignment;
    if (at + needed.size > begin + size) continue;
    block->free.erase(hole);
    if (at > begin) block->free[begin] = at - begin;
    if (at + needed.size < begin + size) block->free[at + needed.size] = begin + size - at - needed.size;
    range = {block, at, needed.size};
    return true;
  }
  return false;
}

void MemoryPool::free(const Range& range) {
  auto& holes = range.block->free;
  auto hole = holes.emplace(range.offset, range.bytes).first;
  if (const auto next = std::next(hole); next != holes.end() && hole->first + hole->second == next->first) {
    hole->second += next->second;
    holes.erase(next);
  }
  if (hole != holes.begin())
    if (const auto before = std::prev(hole); before->first + before->second == hole->first) {
      before->second += hole->second;
      holes.erase(hole);
    }
  if (is_empty(*range.block)) release_empty(kMostKeptBytes);
}

void MemoryPool::release_empty(VkDeviceSize most_kept) {
  VkDeviceSize kept = 0;
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const auto next = std::next(block);
    if (is_empty(*block)) {
      if (kept + block->bytes <= most_kept)
        kept += block->bytes;
      else
        release(block);
    }
    block = next;
  }
}

VkResult MemoryPool::add_block(VkDeviceSize bytes) {
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.allocationSize = bytes;
  info.memoryTypeIndex = type_;
  Block block;
  block.bytes = bytes;
  if (const VkResult result = vkAllocateMemory(device_, &info, nullptr, &block.memory); result != VK_SUCCESS)
    return result;
  if (is_mapped_) {
    void* mapped = nullptr;
    const VkResult result = vkMapMemory(device_, block.memory, 0, VK_WHOLE_SIZE, 0, &mapped);
    if (result != VK_SUCCESS) {
      vkFreeMemory(device_, block.memory, nullptr);
      return result;
    }
    block.mapped = static_cast<std::byte*>(mapped);
  }
  block.free[0] = bytes;
  blocks_.push_front(std::move(block));
  return VK_SUCCESS;
}

void MemoryPool::release(std::list<Block>::iterator block) {
  vkFreeMemory(device_, block->memory, nullptr);  // also unmaps it
  blocks_.erase(block);
}

}  // namespace stipple::vulkan
