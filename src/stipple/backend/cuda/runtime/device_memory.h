// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of an NVIDIA GPU: the storage of arrays, and the scratch memory that kernels share.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "stipple/backend/cuda/runtime/host_ranges.h"
#include "stipple/backend/cuda/runtime/page_pool.h"
#include "stipple/core/device.h"

namespace stipple::cuda {

// Throws Error if a CUDA call failed, or DeviceLost if all further ones will; `what` completes the message
// "CUDA failed to ...".
void check(cudaError_t status, const char* what);

class CudaContext;

// Selects a GPU for this thread's CUDA calls, and restores the previous selection when destroyed: the caller
// may rely on it.
class DeviceGuard {
 public:
  explicit DeviceGuard(const CudaContext& context);
  explicit DeviceGuard(int device);
  DeviceGuard(int device, std::nothrow_t) noexcept;  // for destructors: ignores errors of a lost device
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int device_, before_ = 0;
};

// One GPU, one stream on which work runs in order (SideWork has others), and the count of bytes in use, of
// which there are never more than `max_bytes`. A page counts as a whole. Every block of its memory shares
// ownership of it, so that arrays may outlive the backend.
class CudaContext {
 public:
  CudaContext(int device, std::size_t max_bytes);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }

  struct Block {
    void* data = nullptr;
    std::size_t bytes = 0;  // that it counts as
    Place place = Place::kDevice;
    bool is_paged = false;  // large blocks of the device are; `pages` is valid then
    PagePool::Block pages;
  };
  Block allocate(std::size_t bytes);          // throws OutOfMemory
  Block allocate_on_host(std::size_t bytes);  // the same in memory of the host, which does not count as used
  void free(const Block& block) noexcept;
  // Throws OutOfMemory, and has then changed nothing. Returns false if the block cannot be resized.
  bool resize(Block& block, std::size_t bytes);
  bool is_paged(std::size_t bytes) const { return pages_ && bytes >= kLeastPagedBytes; }

  // Of the memory of the host; null if the device cannot access it.
  const HostRanges* host_ranges() const { return host_ranges_.get(); }
  // Counts the changes of what that memory holds, from 1 on. Whatever changes some of it says so.
  std::uint64_t host_state() const { return host_state_; }
  void host_has_changed() { ++host_state_; }

  void wait() const;                   // until all queued work is done
  void wait_for(cudaStream_t other);   // work queued here from now on waits for all work queued there
  void make_wait(cudaStream_t other);  // the other way round

  std::size_t max_bytes() const { return max_bytes_; }
  std::size_t used_bytes() const { return used_bytes_; }
  std::size_t peak_bytes() const { return peak_bytes_; }

  // Pinned host memory, kept for reuse: allocating it takes longer than rendering a small image.
  struct Pinned {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  Pinned take_pinned(std::size_t bytes);
  void give_back(Pinned block);

 private:
  // A page is never divided, so that smaller blocks would waste too much.
  static constexpr std::size_t kLeastPagedBytes = std::size_t{16} << 20;

  void claim(std::size_t bytes, std::size_t wanted);
  void unclaim(std::size_t bytes) noexcept;
  [[noreturn]] void fail(std::size_t wanted, const char* why) const;
  template <class Work>
  CUresult with_more_memory(Work work);
  void* allocate_in_pool(std::size_t bytes);
  std::size_t most_kept_bytes() const noexcept;
  void limit_pool() noexcept;
  void limit_pool_if_changed() noexcept;

  int device_;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;     // of small blocks
  std::unique_ptr<PagePool> pages_;  // of large ones; null if the device has no pages
  std::unique_ptr<HostRanges> host_ranges_;
  std::atomic<std::uint64_t> host_state_ = 1;
  std::mutex event_mutex_;
  cudaEvent_t event_ = nullptr;  // to synchronise with other streams
  std::size_t max_bytes_;
  std::atomic<std::size_t> used_bytes_ = 0, peak_bytes_ = 0;  // any thread may free arrays
  std::atomic<std::size_t> limited_for_bytes_ = 0;            // the used bytes when the pool was last limited
  std::mutex pinned_mutex_;
  std::vector<Pinned> pinned_;
};

// Pinned host memory of a pass, taken on first use.
class PinnedBlock {
 public:
  explicit PinnedBlock(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}
  ~PinnedBlock() { context_->give_back(block_); }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  void* at_least(std::size_t bytes) {
    if (bytes <= block_.bytes) return block_.data;
    context_->give_back(std::exchange(block_, {}));
    block_ = context_->take_pinned(bytes);
    return block_.data;
  }
  void* data() const { return block_.data; }

 private:
  std::shared_ptr<CudaContext> context_;
  CudaContext::Pinned block_;
};

class CudaMemory : public Memory {
 public:
  CudaMemory(std::shared_ptr<CudaContext> context, std::size_t bytes, Place place = Place::kDevice);
  explicit CudaMemory(void* borrowed) { block_.data = borrowed; }
  ~CudaMemory() override;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  void* data() const { return block_.data; }
  bool resize(std::size_t bytes) { return context_ && context_->resize(block_, bytes); }

 private:
  std::shared_ptr<CudaContext> context_;  // null if the memory is borrowed
  CudaContext::Block block_;
};

// The device pointer of an array of this backend, for kernels; null if the array is empty.
template <class T>
T* pointer(DeviceArray<T>& array) {
  return array.empty() ? nullptr : static_cast<T*>(static_cast<CudaMemory*>(array.memory())->data());
}
template <class T>
const T* pointer(const DeviceArray<T>& array) {
  return array.empty() ? nullptr
                       : static_cast<const T*>(static_cast<const CudaMemory*>(array.memory())->data());
}

// Scratch memory of the stages: one block, which every stage divides up afresh. It grows to the largest total
// that a stage has requested, and keeps that size.
class Arena {
 public:
  explicit Arena(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}

  // Invalidates everything handed out, and provides a capacity of this many bytes.
  void begin(std::size_t bytes);
  template <class T>
  T* take(std::size_t count) {
    return static_cast<T*>(take_bytes(count * sizeof(T)));
  }
  void* take_bytes(std::size_t bytes);
  void release() {
    memory_.reset();
    size_ = used_ = 0;
  }
  static std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  static constexpr std::size_t kAlignment = 256;
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<CudaMemory> memory_;
  std::size_t size_ = 0, used_ = 0;
};

}  // namespace stipple::cuda
