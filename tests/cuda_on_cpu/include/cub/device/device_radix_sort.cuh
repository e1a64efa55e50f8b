// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stands for the functions of CUB that the CUDA backend calls.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tests/cuda_on_cpu/scratch.h"

namespace cub {

struct DeviceRadixSort {
  template <class Key, class Value>
  static cudaError_t SortPairs(void* scratch, std::size_t& bytes, const Key* keys, Key* sorted_keys,
                               const Value* values, Value* sorted_values, int count, int begin_bit,
                               int end_bit, cudaStream_t stream) {
    const auto n = static_cast<std::size_t>(count);
    return cuda_on_cpu::run_with(scratch, bytes, n * (sizeof(Key) + sizeof(Value)), stream, [=] {
      const std::uint64_t mask = ((std::uint64_t{1} << end_bit) - 1) >> begin_bit << begin_bit;
      std::vector<std::pair<Key, Value>> pairs(n);
      for (std::size_t i = 0; i < n; ++i) pairs[i] = {keys[i], values[i]};
      std::stable_sort(pairs.begin(), pairs.end(),
                       [mask](const auto& a, const auto& b) { return (a.first & mask) < (b.first & mask); });
      for (std::size_t i = 0; i < n; ++i) {
        sorted_keys[i] = pairs[i].first;
        sorted_values[i] = pairs[i].second;
      }
    });
  }
};

}  // namespace cub
