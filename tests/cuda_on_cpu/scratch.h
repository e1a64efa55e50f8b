// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

namespace cuda_on_cpu {

// The protocol of CUB's functions: without scratch memory they return how much they need. False then. What is
// given is overwritten, as CUB would do.
inline bool uses(void* scratch, std::size_t& bytes, std::size_t needed) {
  constexpr std::size_t kLeast = 1024;
  if (!scratch) {
    bytes = needed + kLeast;
    return false;
  }
  std::memset(scratch, 0xcd, needed + kLeast);
  return true;
}

}  // namespace cuda_on_cpu
