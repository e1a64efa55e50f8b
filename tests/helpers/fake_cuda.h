// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands for the CUDA runtime and driver, as far as the memory of the CUDA backend uses them, in a program
// that links to neither. Pages are those of a file in memory, so that they can be mapped and moved for real.
// What the driver forbids ends the test: mapping a page twice, releasing one that is mapped, leaving gaps.
#include <cstddef>

namespace stipple::fake_cuda {

constexpr std::size_t kPageBytes = std::size_t{2} << 20;

struct Counts {
  std::size_t device_bytes = 0;  // taken from the device: pages, and small blocks
  std::size_t pages = 0, mapped = 0, reserved_ranges = 0, small_blocks = 0;
  std::size_t waits = 0;                                // for the stream, so far
  std::size_t registrations = 0, registered_bytes = 0;  // memory of the host
};
Counts counts();

void set_device_bytes(std::size_t bytes);  // of the whole device
// The call that counts from 1 on, of those that may fail, does so: as without memory, or with another error.
void fail_call(std::size_t which, bool as_out_of_memory);
void fail_no_call();

// For a program with streams of its own (tests/cuda_on_cpu), whose functions take the place of those here.
void count_wait();
void forget_block(void* data);  // a small one, which it frees itself

}  // namespace stipple::fake_cuda
