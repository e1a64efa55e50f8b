// SPDX-License-Identifier: Apache-2.0
#pragma once
// A CPU backend that pretends to have device memory, with a limit that tests can set.
#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple {

class LimitedBackend : public cpu::CpuBackend {
 public:
  // `own_bytes` is the memory that the backend reports. It allocates up to `limit_bytes`, which may be less
  // and may change at any time.
  explicit LimitedBackend(std::size_t own_bytes) : limit_bytes(own_bytes), own_bytes_(own_bytes) {}

  std::size_t limit_bytes;

  std::unique_ptr<Memory> allocate(std::size_t bytes) override {
    if (used_bytes_ + bytes > limit_bytes) throw OutOfMemory("the device has no memory left");
    return std::make_unique<CountedMemory>(bytes, used_bytes_);
  }
  std::size_t own_memory_bytes() const override { return own_bytes_; }
  std::size_t used_bytes() const override { return used_bytes_; }

 private:
  class CountedMemory : public cpu::HostMemory {
   public:
    CountedMemory(std::size_t bytes, std::size_t& used) : HostMemory(bytes), bytes_(bytes), used_(used) {
      used_ += bytes_;
    }
    ~CountedMemory() override { used_ -= bytes_; }

   private:
    std::size_t bytes_;
    std::size_t& used_;
  };

  std::size_t own_bytes_, used_bytes_ = 0;
};

}  // namespace stipple
