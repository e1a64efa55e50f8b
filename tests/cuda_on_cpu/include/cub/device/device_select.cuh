// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands for the functions of CUB that the CUDA backend calls.
#include "tests/cuda_on_cpu/scratch.h"

namespace cub {

struct DeviceSelect {
  template <class In, class Value, class Count, class Condition>
  static cudaError_t If(void* scratch, std::size_t& bytes, In in, Value* out, Count* selected, int count,
                        Condition condition, cudaStream_t stream) {
    return cuda_on_cpu::run_with(scratch, bytes, static_cast<std::size_t>(count) / 64, stream, [=] {
      *selected = 0;
      for (int i = 0; i < count; ++i)
        if (condition(in[i])) out[(*selected)++] = in[i];
    });
  }
};

}  // namespace cub
