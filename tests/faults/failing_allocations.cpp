// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/failing_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace stipple {

namespace {

std::atomic<bool> is_armed = false;
std::atomic<std::size_t> allocation_count = 0, failing = 0;

void fail_if_chosen(std::size_t bytes) {
  if (bytes >= FailingAllocation::kSmallest && is_armed.load(std::memory_order_relaxed) &&
      ++allocation_count == failing)
    throw std::bad_alloc();
}

}  // namespace

FailingAllocation::FailingAllocation(std::size_t which) {
  allocation_count = 0;
  failing = which;
  is_armed = true;
}

FailingAllocation::~FailingAllocation() { is_armed = false; }

std::size_t FailingAllocation::count() const { return allocation_count; }

static void* allocate_or_fail(std::size_t bytes, std::size_t alignment) {
  fail_if_chosen(bytes);
  const std::size_t padded = (bytes + alignment) / alignment * alignment;  // never 0
  if (void* memory = std::aligned_alloc(alignment, padded)) return memory;
  throw std::bad_alloc();
}

}  // namespace stipple

constexpr std::size_t kDefaultAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

// The other forms of operator new and delete call these.
void* operator new(std::size_t bytes) { return stipple::allocate_or_fail(bytes, kDefaultAlignment); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return stipple::allocate_or_fail(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
