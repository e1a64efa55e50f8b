// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/core/gaussians.h"

namespace stipple {

// One allocation on one device. Each backend derives its own class: host memory, a CUDA pointer, a VkBuffer.
class Memory {
 public:
  virtual ~Memory() = default;
};

// Lets device arrays use borrowed memory: memory that the caller owns, such as the tensors of another
// library. A device offers this if pointers can address its memory.
class MemoryBorrower {
 public:
  virtual ~MemoryBorrower() = default;

  // The owner must keep the memory alive while it is borrowed, and the device must be able to access it.
  virtual std::unique_ptr<Memory> borrow(void* data) = 0;
  // The address of the device's own memory, for kernels of another library.
  virtual void* address_of(Memory& memory) = 0;

  // For devices that queue their work: work queued on the device from now on waits for everything that the
  // owner has queued on the stream (for CUDA a cudaStream_t) ...
  virtual void wait_for_stream(void*) {}
  // ... and whatever the owner queues on the stream from now on waits for all work of the device so far.
  virtual void make_stream_wait(void*) {}
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::unique_ptr<Memory> allocate(std::size_t bytes) = 0;  // contents undefined
  virtual void upload(std::span<const std::byte> from, Memory& to) = 0;
  virtual void download(const Memory& from, std::span<std::byte> to) const = 0;
  virtual void fill_zero(Memory& memory, std::size_t bytes) = 0;
  virtual void copy(const Memory& from, Memory& to, std::size_t bytes) = 0;

  virtual MemoryBorrower* borrower() { return nullptr; }  // null if the device cannot borrow memory

  // Bytes of its own memory that may be allocated in total; 0 if the device works in host memory.
  virtual std::size_t own_memory_bytes() const { return 0; }
  virtual std::size_t used_bytes() const { return 0; }       // of its own memory, now
  virtual std::size_t peak_used_bytes() const { return 0; }  // largest used_bytes() so far
};

// Thrown by allocate().
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

// Thrown by any call once the device has stopped working. What its memory held is gone.
class DeviceLost : public Error {
 public:
  using Error::Error;
};

// A typed, move-only array on a device.
template <class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kElementBytes = sizeof(T);

  DeviceArray() = default;
  DeviceArray(Device& device, std::span<const T> from) { upload(device, from); }

  // n elements in borrowed memory.
  static DeviceArray over(MemoryBorrower& borrower, T* data, std::size_t n) {
    DeviceArray array;
    array.memory_ = borrower.borrow(data);
    array.size_ = array.capacity_ = n;
    return array;
  }

  // Leaves the contents undefined. Memory is only ever replaced by a larger block, so that arrays which are
  // resized every frame soon stop allocating.
  void resize(Device& device, std::size_t n) {
    if (n > capacity_ || !memory_) {
      memory_.reset();        // first, so that the old and the new block never coexist
      size_ = capacity_ = 0;  // remains true if allocate() throws
      memory_ = device.allocate(n * sizeof(T));
      capacity_ = n;
    }
    size_ = n;
  }
  void resize_zero(Device& device, std::size_t n) {
    resize(device, n);
    device.fill_zero(*memory_, n * sizeof(T));
  }
  void upload(Device& device, std::span<const T> from) {
    resize(device, from.size());
    device.upload(std::as_bytes(from), *memory_);
  }
  DeviceArray copy(Device& device) const {
    DeviceArray to;
    if (empty()) return to;
    to.resize(device, size_);
    device.copy(*memory_, *to.memory_, size_ * sizeof(T));
    return to;
  }
  std::vector<T> download(const Device& device) const {
    std::vector<T> host(size_);
    if (size_ > 0) device.download(*memory_, std::as_writable_bytes(std::span(host)));
    return host;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Memory* memory() { return memory_.get(); }
  const Memory* memory() const { return memory_.get(); }

 private:
  std::unique_ptr<Memory> memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

using DeviceGaussians = GaussianArrays<DeviceArray>;  // parameters, gradients and Adam moments

inline DeviceGaussians upload(Device& device, const Gaussians& from) {
  DeviceGaussians to;
  to.sh_degree = from.sh_degree;
  for_each_parameter([&](int, auto& target, const auto& source) { target.upload(device, source); }, to, from);
  return to;
}

inline Gaussians download(const Device& device, const DeviceGaussians& from) {
  Gaussians to;
  to.sh_degree = from.sh_degree;
  for_each_parameter([&](int, auto& target, const auto& source) { target = source.download(device); }, to,
                     from);
  return to;
}

// Arrays of the same shape as `like`, all zero.
inline DeviceGaussians zeros_like(Device& device, const DeviceGaussians& like) {
  DeviceGaussians to;
  to.sh_degree = like.sh_degree;
  for_each_parameter(
      [&](int, auto& target, const auto& source) { target.resize_zero(device, source.size()); }, to, like);
  return to;
}

}  // namespace stipple
