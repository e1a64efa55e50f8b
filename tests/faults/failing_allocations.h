// SPDX-License-Identifier: Apache-2.0
#pragma once
// Makes one allocation of the program fail. This replaces the global operator new, so it belongs into a
// program of its own.
#include <cstddef>

namespace stipple {

class FailingAllocation {
 public:
  // Smaller allocations never fail, as in a command that keeps a reserve for them (run/memory_reserve.h).
  static constexpr std::size_t kSmallest = 512;

  // From now on, allocations on all threads are counted, and number `which`, from 1, throws std::bad_alloc. 0
  // only counts.
  explicit FailingAllocation(std::size_t which);
  ~FailingAllocation();
  FailingAllocation(const FailingAllocation&) = delete;
  FailingAllocation& operator=(const FailingAllocation&) = delete;

  std::size_t count() const;  // so far
};

}  // namespace stipple
