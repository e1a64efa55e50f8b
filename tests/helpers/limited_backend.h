// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CPU backend that pretends to have device memory, with a limit that tests can set.
#include <algorithm>
#include <limits>

#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple {

// How the memory of a LimitedBackend is resized.
enum class Resizing {
  kByCopy,
  kInPlace,  // as that of a GPU with pages; no array may need more than LimitedBackend::kMostInPlace bytes
};

class LimitedBackend : public cpu::CpuBackend {
 public:
  static constexpr std::size_t kMostInPlace = std::size_t{1} << 22;

  // `own_bytes` is the memory that the backend reports. It allocates up to `limit_bytes`, which may be less
  // and may change at any time.
  explicit LimitedBackend(std::size_t own_bytes, Resizing resizing = Resizing::kByCopy)
      : limit_bytes(own_bytes), own_bytes_(own_bytes), is_in_place_(resizing == Resizing::kInPlace) {}

  std::size_t limit_bytes;
  bool may_use_host = false;                                               // as reaches_host() says
  std::size_t host_limit_bytes = std::numeric_limits<std::size_t>::max();  // of allocate_on_host()

  std::unique_ptr<Memory> allocate(std::size_t bytes) override {
    use(bytes);
    return make_memory(bytes, used_bytes_);
  }
  bool resize_in_place(Memory& memory, std::size_t bytes) override {
    auto* counted = dynamic_cast<CountedMemory*>(&memory);  // or it is borrowed
    if (!is_in_place_ || !counted) return false;
    if (bytes > kMostInPlace) throw Error("the test needs larger arrays than the backend can resize");
    if (bytes > counted->bytes && &counted->used_bytes == &used_bytes_)
      use(bytes - counted->bytes);
    else
      counted->used_bytes += bytes - counted->bytes;
    counted->bytes = bytes;
    return true;
  }
  bool resizes_in_place(std::size_t, Place) const override { return is_in_place_; }
  bool reaches_host() const override { return may_use_host; }
  std::unique_ptr<Memory> allocate_on_host(std::size_t bytes) override {
    if (host_used_bytes_ + bytes > host_limit_bytes) throw OutOfMemory("the host has no memory left");
    host_used_bytes_ += bytes;
    host_peak_bytes_ = std::max(host_peak_bytes_, host_used_bytes_);
    return make_memory(bytes, host_used_bytes_);
  }
  std::size_t own_memory_bytes() const override { return own_bytes_; }
  std::size_t used_bytes() const override { return used_bytes_; }
  std::size_t peak_used_bytes() const override { return peak_bytes_; }
  std::size_t host_used_bytes() const { return host_used_bytes_; }
  std::size_t host_peak_bytes() const { return host_peak_bytes_; }
  void forget_peak() {
    peak_bytes_ = used_bytes_;
    host_peak_bytes_ = host_used_bytes_;
  }

 private:
  struct CountedMemory : public cpu::HostMemory {
    CountedMemory(std::size_t counted_bytes, std::size_t allocated_bytes, std::size_t& used)
        : HostMemory(allocated_bytes), bytes(counted_bytes), used_bytes(used) {}
    ~CountedMemory() override { used_bytes -= bytes; }

    std::size_t bytes;
    std::size_t& used_bytes;
  };

  std::unique_ptr<Memory> make_memory(std::size_t bytes, std::size_t& used) const {
    return std::make_unique<CountedMemory>(bytes, is_in_place_ ? std::max(bytes, kMostInPlace) : bytes, used);
  }

  void use(std::size_t bytes) {
    if (used_bytes_ + bytes > limit_bytes) throw OutOfMemory("the device has no memory left");
    used_bytes_ += bytes;
    peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  }

  std::size_t own_bytes_, used_bytes_ = 0, peak_bytes_ = 0;
  std::size_t host_used_bytes_ = 0, host_peak_bytes_ = 0;
  bool is_in_place_;
};

}  // namespace stipple
