// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of an NVIDIA GPU: what arrays are made of, and the scratch that kernels share.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <memory>

#include "stipple/core/device.h"

namespace stipple {

// Throws Error when a call of CUDA's failed; `what` is what was being done.
void check(cudaError_t status, const char* what);

// One GPU, one stream on which everything happens in order, and the count of bytes in use. Shared by all of
// its memory, so that arrays may outlive the backend.
class CudaContext {
 public:
  CudaContext(int device, std::size_t max_bytes);
  ~CudaContext();
  CudaContext(const CudaContext&) = delete;
  CudaContext& operator=(const CudaContext&) = delete;

  cudaStream_t stream() const { return stream_; }
  void* allocate(std::size_t bytes);  // throws OutOfMemory
  void free(void* data, std::size_t bytes) noexcept;
  void wait() const;                          // until everything that was asked for is done
  void wait_for(cudaStream_t others) const;   // what is asked for next waits for all that was asked for there
  void make_wait(cudaStream_t others) const;  // and the other way round

  std::size_t max_bytes() const { return max_bytes_; }
  std::size_t used_bytes() const { return used_bytes_; }
  std::size_t peak_bytes() const { return peak_bytes_; }

 private:
  cudaStream_t stream_ = nullptr;
  cudaMemPool_t pool_ = nullptr;
  cudaEvent_t event_ = nullptr;  // for other streams
  std::size_t max_bytes_;
  std::atomic<std::size_t> used_bytes_ = 0, peak_bytes_ = 0;  // arrays may be let go of by any thread
};

class CudaMemory : public Memory {
 public:
  CudaMemory(std::shared_ptr<CudaContext> context, std::size_t bytes);
  explicit CudaMemory(void* others) : bytes_(0), data_(others) {}
  ~CudaMemory() override;
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  void* data() const { return data_; }

 private:
  std::shared_ptr<CudaContext> context_;  // null: the memory is somebody else's
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
  static std::size_t padded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

 private:
  static constexpr std::size_t kAlignment = 256;
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<CudaMemory> memory_;
  std::size_t size_ = 0, used_ = 0;
};

}  // namespace stipple
