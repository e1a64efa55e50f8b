// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/runtime/host_ranges.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "stipple/backend/cuda/runtime/device_memory.h"

namespace stipple::cuda {

namespace {

// Registering takes long, and longest for the first use of many small pages.
constexpr std::size_t kUnitBytes = std::size_t{2} << 20, kMostPieceBytes = std::size_t{256} << 20;

std::size_t rounded_up(std::size_t bytes) { return (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes; }

std::size_t machine_bytes() {
  return static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(::sysconf(_SC_PAGE_SIZE));
}

[[noreturn]] void fail(std::size_t bytes) {
  throw OutOfMemory(fmt::format("cannot allocate {:.0f} MiB on the host for the GPU",
                                static_cast<double>(bytes) / (1 << 20)));
}

void give_back(std::byte* from, std::size_t bytes) noexcept {
  ::madvise(from, bytes, MADV_DONTNEED);
  ::mprotect(from, bytes, PROT_NONE);
}

}  // namespace

std::unique_ptr<HostRanges> HostRanges::make(int device) {
  const auto has = [&](cudaDeviceAttr attribute) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, attribute, device) != cudaSuccess) cudaGetLastError();
    return value != 0;
  };
  if (has(cudaDevAttrIntegrated)) return nullptr;  // the host's memory is the device's
  if (!has(cudaDevAttrHostRegisterSupported) || !has(cudaDevAttrCanUseHostPointerForRegisteredMem))
    return nullptr;
  return std::make_unique<HostRanges>(machine_bytes());
}

HostRanges::HostRanges(std::size_t most_bytes) : reserved_bytes_(rounded_up(most_bytes)) {}

HostRanges::~HostRanges() {
  while (!ranges_.empty()) free(ranges_.begin()->first);
}

void* HostRanges::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  // Aligned to a unit, so that the kernel can back it with large pages.
  const std::size_t all = reserved_bytes_ + kUnitBytes;
  void* mapped = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) fail(bytes);
  auto* const first = static_cast<std::byte*>(mapped);
  auto* const start = reinterpret_cast<std::byte*>(rounded_up(reinterpret_cast<std::size_t>(mapped)));
  if (start > first) ::munmap(first, static_cast<std::size_t>(start - first));
  if (start < first + kUnitBytes)
    ::munmap(start + reserved_bytes_, static_cast<std::size_t>(first + kUnitBytes - start));
  ::madvise(start, reserved_bytes_, MADV_HUGEPAGE);
  try {
    grow(start, ranges_[start], std::max<std::size_t>(bytes, 1));
  } catch (...) {
    ranges_.erase(start);
    ::munmap(start, reserved_bytes_);
    throw;
  }
  return start;
}

void HostRanges::resize(void* at, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto* const start = static_cast<std::byte*>(at);
  Range& range = ranges_.at(start);
  if (bytes > range.end())
    grow(start, range, bytes);
  else
    shrink(start, range, bytes);
}

void HostRanges::free(void* at) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(static_cast<std::byte*>(at));
  shrink(found->first, found->second, 0);
  ::munmap(found->first, reserved_bytes_);
  ranges_.erase(found);
}

void HostRanges::grow(std::byte* start, Range& range, std::size_t bytes) {
  if (bytes > reserved_bytes_) fail(bytes);
  const std::size_t before = range.end(), after = rounded_up(bytes);
  try {
    while (range.end() < after) add_piece(start, range, std::min(after - range.end(), kMostPieceBytes));
  } catch (...) {
    while (range.end() > before) remove_last_piece(start, range);
    throw;
  }
}

void HostRanges::add_piece(std::byte* start, Range& range, std::size_t bytes) {
  std::byte* const piece = start + range.end();
  range.ends.reserve(range.ends.size() + 1);
  if (::mprotect(piece, bytes, PROT_READ | PROT_WRITE) != 0) fail(bytes);
  const cudaError_t status =
      cudaHostRegister(piece, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
  if (status != cudaSuccess) give_back(piece, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(bytes);
  }
  check(status, "register memory of the host");
  range.ends.push_back(range.end() + bytes);
}

void HostRanges::remove_last_piece(std::byte* start, Range& range) noexcept {
  const std::size_t end = range.end();
  range.ends.pop_back();
  cudaHostUnregister(start + range.end());
  give_back(start + range.end(), end - range.end());
}

// Only whole pieces can be given back.
void HostRanges::shrink(std::byte* start, Range& range, std::size_t bytes) noexcept {
  const auto begin_of_last = [&] { return range.ends.size() > 1 ? *std::prev(range.ends.end(), 2) : 0; };
  if (range.ends.empty() || begin_of_last() < bytes) return;
  cudaDeviceSynchronize();  // if it fails, the device is lost, and uses nothing any more
  while (!range.ends.empty() && begin_of_last() >= bytes) remove_last_piece(start, range);
}

HostRanges::Found HostRanges::find(const void* address) const {
  auto* const at = static_cast<std::byte*>(const_cast<void*>(address));
  const auto behind = ranges_.upper_bound(at);
  if (behind == ranges_.begin()) return ranges_.end();
  const auto range = std::prev(behind);
  return at < range->first + range->second.end() ? range : ranges_.end();
}

bool HostRanges::contains(const void* address) const {
  const std::lock_guard lock(mutex_);
  return find(address) != ranges_.end();
}

std::size_t HostRanges::bytes_left_in_piece(const void* address) const {
  const std::lock_guard lock(mutex_);
  const Found range = find(address);
  if (range == ranges_.end()) return std::numeric_limits<std::size_t>::max();
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(address) - range->first);
  const std::vector<std::size_t>& ends = range->second.ends;
  return *std::upper_bound(ends.begin(), ends.end(), offset) - offset;
}

}  // namespace stipple::cuda
