// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>

#include "tests/cuda_on_cpu/streams.h"

namespace cuda_on_cpu {

// The protocol of CUB's functions: without scratch memory they only return how much they need. What they are
// given is overwritten.
template <class Work>
cudaError_t run_with(void* scratch, std::size_t& bytes, std::size_t needed, cudaStream_t stream, Work work) {
  constexpr std::size_t kLeast = 1024;
  if (!scratch) {
    bytes = needed + kLeast;
    return cudaSuccess;
  }
  enqueue(stream, [=] {
    std::memset(scratch, 0xcd, needed + kLeast);
    work();
  });
  return cudaSuccess;
}

}  // namespace cuda_on_cpu
