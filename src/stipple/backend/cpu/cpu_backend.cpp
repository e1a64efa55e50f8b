// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cpu/cpu_backend.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/cpu_backend.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

// The instruction set, which is the same for all stages.
const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(target_name);

namespace {

constexpr std::size_t kCacheLine = 64, kHugePage = std::size_t{1} << 21;
constexpr std::size_t kSlack = 64;  // bytes, so that the last vector of an array can be loaded whole

// Large arrays use huge pages if the system provides them: splats and gradients are accessed in an order that
// would constantly miss the TLB with small pages.
std::align_val_t alignment_for(std::size_t bytes) {
  return std::align_val_t{bytes < kHugePage ? kCacheLine : kHugePage};
}

}  // namespace

HostMemory::HostMemory(std::size_t bytes)
    : size_(bytes + kSlack), data_(static_cast<std::byte*>(::operator new(size_, alignment_for(size_)))) {
#ifdef MADV_HUGEPAGE
  if (size_ >= kHugePage) ::madvise(data_, size_, MADV_HUGEPAGE);  // only a hint
#endif
}

HostMemory::~HostMemory() {
  if (size_ > 0) ::operator delete(data_, alignment_for(size_));
}

// Chooses the vector width once; otherwise the first stage would query the CPU again for every tile.
CpuBackend::CpuBackend() { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }

std::unique_ptr<Memory> CpuBackend::allocate(std::size_t bytes) {
  return std::make_unique<HostMemory>(bytes);
}

std::unique_ptr<Memory> CpuBackend::borrow(void* data) { return std::make_unique<HostMemory>(data); }

void CpuBackend::upload(std::span<const std::byte> from, Memory& to) {
  if (!from.empty()) std::memcpy(static_cast<HostMemory&>(to).data(), from.data(), from.size());
}

void CpuBackend::download(const Memory& from, std::span<std::byte> to) const {
  if (!to.empty()) std::memcpy(to.data(), static_cast<const HostMemory&>(from).data(), to.size());
}

void CpuBackend::fill_zero(Memory& memory, std::size_t bytes) {
  std::byte* data = static_cast<HostMemory&>(memory).data();
  parallel_ranges(bytes, 1 << 20,
                  [&](std::size_t begin, std::size_t end) { std::memset(data + begin, 0, end - begin); });
}

void CpuBackend::copy(const Memory& from, Memory& to, std::size_t bytes) {
  const std::byte* source = static_cast<const HostMemory&>(from).data();
  std::byte* target = static_cast<HostMemory&>(to).data();
  parallel_ranges(bytes, 1 << 20, [&](std::size_t begin, std::size_t end) {
    std::memcpy(target + begin, source + begin, end - begin);
  });
}

std::string CpuBackend::description() const {
  return fmt::format("{} threads, {} vectors", thread_count(), HWY_DYNAMIC_DISPATCH(target_name)());
}

std::unique_ptr<Backend> make_cpu_backend() { return std::make_unique<CpuBackend>(); }

}  // namespace stipple::cpu
#endif
