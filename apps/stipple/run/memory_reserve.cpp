// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/run/memory_reserve.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace stipple {

namespace {

constexpr std::size_t kReserveBytes = std::size_t{16} << 20;

std::atomic<void*> reserve = nullptr;
std::atomic<bool> has_run_out = false;

void release_reserve() {
  has_run_out = true;
  if (void* memory = reserve.exchange(nullptr))
    std::free(memory);
  else
    throw std::bad_alloc();
}

}  // namespace

void keep_memory_reserve() {
  void* memory = std::malloc(kReserveBytes);
  if (memory) std::memset(memory, 1, kReserveBytes);  // otherwise the system would not provide it yet
  reserve = memory;
  std::set_new_handler(release_reserve);
}

bool memory_ran_out() { return has_run_out; }

}  // namespace stipple
