// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <algorithm>
#include <cassert>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
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

// Where the memory of an array lies.
enum class Place : unsigned char {
  kDevice,
  kHost,  // in memory of the host that the device's kernels access where it is: large, but slow
};

// Sizes of what lies in both places.
struct PlacedBytes {
  std::size_t device = 0, host = 0;
};
inline PlacedBytes operator+(PlacedBytes a, PlacedBytes b) { return {a.device + b.device, a.host + b.host}; }
// What is left of `a`, in each place.
inline PlacedBytes operator-(PlacedBytes a, PlacedBytes b) {
  return {a.device - std::min(a.device, b.device), a.host - std::min(a.host, b.host)};
}
inline PlacedBytes bytes_in(Place place, std::size_t bytes) {
  return place == Place::kHost ? PlacedBytes{0, bytes} : PlacedBytes{bytes, 0};
}

class Device {
 public:
  virtual ~Device() = default;
  virtual std::unique_ptr<Memory> allocate(std::size_t bytes) = 0;  // contents undefined
  // The same in memory of the host, which does not count as the device's own. All functions and kernels take
  // it like any other memory. Throws OutOfMemory if reaches_host() is false.
  virtual std::unique_ptr<Memory> allocate_on_host(std::size_t bytes);
  virtual bool reaches_host() const { return false; }
  virtual void upload(std::span<const std::byte> from, Memory& to) = 0;
  virtual void download(const Memory& from, std::span<std::byte> to) const = 0;
  virtual void fill_zero(Memory& memory, std::size_t bytes) = 0;
  virtual void copy(const Memory& from, Memory& to, std::size_t bytes) = 0;

  // Memory that can be resized where it is keeps its address and, as far as they fit, its contents. Returns
  // false, and changes nothing, if this memory cannot; if this throws OutOfMemory, nothing has changed
  // either.
  virtual bool resize_in_place(Memory&, std::size_t) { return false; }
  // Whether memory of this size, allocated there, can be resized where it is.
  virtual bool resizes_in_place(std::size_t, Place) const { return false; }

  // The largest block that allocate() can give, however much memory is free.
  virtual std::size_t most_bytes_at_once() const { return std::numeric_limits<std::size_t>::max(); }

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

inline std::unique_ptr<Memory> Device::allocate_on_host(std::size_t) {
  throw OutOfMemory("this device cannot use memory of the host");
}

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

  // Memory that is allocated from now on lies there.
  void set_place(Place place) { place_ = place; }
  Place place() const { return place_; }
  // Keeps the contents. If this throws, nothing has changed.
  void move_to(Device& device, Place place) {
    if (place == place_) return;
    if (memory_) {
      std::unique_ptr<Memory> there = allocate(device, place, size_);
      if (!empty()) device.copy(*memory_, *there, size_ * sizeof(T));
      memory_ = std::move(there);
      capacity_ = size_;
    }
    place_ = place;
  }

  // Leaves the contents undefined. Memory is only ever replaced by a larger block, so that arrays which are
  // resized every frame soon stop allocating.
  void resize(Device& device, std::size_t n) {
    if (n > capacity_ || !memory_) {
      release();  // first, so that the old and the new block never coexist
      memory_ = allocate(device, place_, n);
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
  // Keeps the contents as far as they fit, and gives back what a smaller array does not need. Returns false,
  // and changes nothing, if the memory cannot be resized where it is.
  bool resize_in_place(Device& device, std::size_t n) {
    if (!memory_ || !device.resize_in_place(*memory_, n * sizeof(T))) return false;
    size_ = capacity_ = n;
    return true;
  }
  void release() {  // its memory; it is empty then
    memory_.reset();
    size_ = capacity_ = 0;
  }
  DeviceArray copy(Device& device) const {
    DeviceArray to;
    to.set_place(place_);
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
  static std::unique_ptr<Memory> allocate(Device& device, Place place, std::size_t n) {
    return place == Place::kHost ? device.allocate_on_host(n * sizeof(T)) : device.allocate(n * sizeof(T));
  }

  std::unique_ptr<Memory> memory_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  Place place_ = Place::kDevice;
};

using DeviceGaussians = GaussianArrays<DeviceArray>;  // parameters and gradients

// Replaces arrays, each in its place.
inline void upload(Device& device, const Gaussians& from, DeviceGaussians& to) {
  to.sh_degree = from.sh_degree;
  for_each_parameter([&](int, auto& target, const auto& source) { target.upload(device, source); }, to, from);
}

inline DeviceGaussians upload(Device& device, const Gaussians& from) {
  DeviceGaussians to;
  upload(device, from, to);
  return to;
}

inline Gaussians download(const Device& device, const DeviceGaussians& from) {
  Gaussians to;
  to.sh_degree = from.sh_degree;
  for_each_parameter([&](int, auto& target, const auto& source) { target = source.download(device); }, to,
                     from);
  return to;
}

}  // namespace stipple
