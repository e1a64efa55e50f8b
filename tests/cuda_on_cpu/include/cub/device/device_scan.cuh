// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands for the functions of CUB that the CUDA backend calls.
#include "tests/cuda_on_cpu/scratch.h"

namespace cub {

struct DeviceScan {
  template <class In, class Out>
  static cudaError_t ExclusiveSum(void* scratch, std::size_t& bytes, In in, Out out, int count,
                                  cudaStream_t stream) {
    return cuda_on_cpu::run_with(scratch, bytes, static_cast<std::size_t>(count) / 64, stream, [=] {
      auto sum = decltype(+in[0]){};
      for (int i = 0; i < count; ++i) {
        const auto value = in[i];
        out[i] = sum;
        sum += value;
      }
    });
  }
};

}  // namespace cub
