// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of the host that kernels access where it is, over the bus. Addresses for all that a range could ever
// need are reserved, and as many pages from its start as it needs are registered with CUDA, so that it grows
// and shrinks where it is. Each registration is a piece of its own: CUDA copies nothing across their borders.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace stipple::cuda {

class HostRanges {
 public:
  // Null if the device cannot access such memory at its address on the host. The device must be selected
  // whenever one of these is called.
  static std::unique_ptr<HostRanges> make(int device);
  // The limit of a range's size is for tests.
  explicit HostRanges(std::size_t most_bytes);
  ~HostRanges();
  HostRanges(const HostRanges&) = delete;
  HostRanges& operator=(const HostRanges&) = delete;

  // Any thread may call these. The first two throw OutOfMemory, and have then changed nothing.
  void* allocate(std::size_t bytes);
  void resize(void* range, std::size_t bytes);
  void free(void* range) noexcept;

  bool contains(const void* address) const;
  // The bytes from an address to the end of its piece; of one outside of all ranges, more than there can be.
  std::size_t bytes_left_in_piece(const void* address) const;

 private:
  struct Range {
    std::vector<std::size_t> ends;  // of its pieces
    std::size_t end() const { return ends.empty() ? 0 : ends.back(); }
  };
  using Found = std::map<std::byte*, Range>::const_iterator;

  Found find(const void* address) const;
  void grow(std::byte* start, Range& range, std::size_t bytes);
  void add_piece(std::byte* start, Range& range, std::size_t bytes);
  void remove_last_piece(std::byte* start, Range& range) noexcept;
  void shrink(std::byte* start, Range& range, std::size_t bytes) noexcept;

  std::size_t reserved_bytes_;  // for each range
  mutable std::mutex mutex_;
  std::map<std::byte*, Range> ranges_;
};

}  // namespace stipple::cuda
