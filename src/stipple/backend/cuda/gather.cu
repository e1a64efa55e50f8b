// SPDX-License-Identifier: Apache-2.0
// gather: rows of an array, in another order; a thread a word, so that rows are read and written by whole warps.
#include <cassert>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/kernel.cuh"

namespace stipple {

namespace {

constexpr int kThreads = 256;

__global__ void gather_kernel(const std::uint32_t* from, const std::uint32_t* rows, std::size_t word_count,
                              unsigned row_words, std::uint32_t* to) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= word_count) return;
  const std::uint32_t row = rows[i / row_words];
  to[i] = row == Backend::kNoRow ? 0 : from[std::size_t{row} * row_words + i % row_words];
}

}  // namespace

void CudaBackend::gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
                         Memory& to) {
  assert(row_bytes % sizeof(std::uint32_t) == 0);
  const auto row_words = static_cast<unsigned>(row_bytes / sizeof(std::uint32_t));
  const std::size_t words = rows.size() * row_words;
  if (words == 0) return;
  gather_kernel<<<blocks_for(words, kThreads), kThreads, 0, stream()>>>(
      static_cast<const std::uint32_t*>(static_cast<const CudaMemory&>(from).data()), pointer(rows), words, row_words,
      static_cast<std::uint32_t*>(static_cast<CudaMemory&>(to).data()));
  check(cudaGetLastError(), "start gather");
}

}  // namespace stipple
