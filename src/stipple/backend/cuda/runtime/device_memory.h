// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of an NVIDIA GPU: what arrays are made of, and the scratch that kernels share.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "stipple/core/device.h"

namespace stipple::cuda {

// Throws Error when a call of CUDA's failed; `what` is what was being done.
void check(cudaError_t status, const char* what);

class CudaContext;

// While it lives, CUDA's calls of this thread are about the context's GPU; then about the one that they were
// about before, which may be somebody else's business.
class DeviceGuard {
 public:
  explicit DeviceGuard(const CudaContext& context);
  explicit DeviceGuard(int device);
  DeviceGuard(int device, std::nothrow_t) noexcept;  // for destructors: a device that is lost is left alone
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  int device_, before_ = 0;
};

// One GPU, one stream on which everything happens in order, and the count of bytes in use. Shared by all of
// its memory, so that arrays may outlive the backend.
class CudaContext {
 public:
  CudaContext(int device, std::size_t max_bytes);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  int device() const { return device_; }
  cudaStream_t stream() const { return stream_; }
  void* allocate(std::size_t bytes);  // throws OutOfMemory
  void free(void* data, std::size_t bytes) noexcept;
  void wait() const;                    // until everything that was asked for is done
  void wait_for(cudaStream_t others);   // what is asked for next waits for all that was asked for there
  void make_wait(cudaStream_t others);  // and the other way round

  std::size_t max_bytes() const { return max_bytes_; }
  std::size_t used_bytes() const { return used_bytes_; }
  std::size_t peak_bytes() const { return peak_bytes_; }

  // Pinned host memory, kept for the next to ask: allocating it takes longer than a small picture.
  struct Pinned {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  Pinned take_pinned(std::size_t bytes);
  void give_back(Pinned block);

 private:
  int device_;
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  std::mutex event_mutex_;
  cudaEvent_t event_ = nullptr;  // for other streams
  std::size_t max_bytes_;
  std::atomic<std::size_t> used_bytes_ = 0, peak_bytes_ = 0;  // arrays may be let go of by any thread
  std::mutex pinned_mutex_;
  std::vector<Pinned> pinned_;
};

// Pinned host memory of a pass, taken when it is first asked for.
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
  CudaMemory(std::shared_ptr<CudaContext> context, std::size_t bytes);
  explicit CudaMemory(void* borrowed) : bytes_(0), data_(borrowed) {}
  ~CudaMemory() override;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  void* data() const { return data_; }

 private:
  std::shared_ptr<CudaContext> context_;  // null: the memory is borrowed
  std::size_t bytes_;
  void* data_;
};

// A device array of this backend as what it is: a pointer for kernels; null when empty.
template <class T>
T* pointer(DeviceArray<T>& array) {
  return array.empty() ? nullptr : static_cast<T*>(static_cast<CudaMemory*>(array.memory())->data());
}
template <class T>
const T* pointer(const DeviceArray<T>& array) {
  return array.empty() ? nullptr
                       : static_cast<const T*>(static_cast<const CudaMemory*>(array.memory())->data());
}

// Scratch of the stages: one block, handed out from the start to every stage anew. It grows to the largest
// sum that a stage ever asked for, its high-water mark, and stays.
class Arena {
 public:
  explicit Arena(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}

  // Forgets what was handed out, and makes room for this many bytes.
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
