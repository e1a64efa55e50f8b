// SPDX-License-Identifier: Apache-2.0
// gather: copies rows of an array in a given order, one thread per word, so that warps access whole rows.
#include <algorithm>
#include <cassert>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 256;

// A word has 4 or 16 bytes.
template <class Word>
__global__ void gather_kernel(const Word* from, const std::uint32_t* rows, std::size_t row_count,
                              unsigned row_words, Word* to) {
  const unsigned lanes = min(row_words, static_cast<unsigned>(kThreads)), rows_per_block = kThreads / lanes;
  const unsigned row_in_block = threadIdx.x / lanes;
  const std::size_t i = std::size_t{blockIdx.x} * rows_per_block + row_in_block;
  if (row_in_block >= rows_per_block || i >= row_count) return;
  const std::uint32_t row = rows[i];
  for (unsigned word = threadIdx.x % lanes; word < row_words; word += lanes)
    to[i * row_words + word] = row == Backend::kNoRow ? Word{} : from[std::size_t{row} * row_words + word];
}

}  // namespace

void CudaBackend::gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
                         Memory& to) {
  assert(row_bytes % sizeof(std::uint32_t) == 0);
  if (rows.empty() || row_bytes == 0) return;
  const DeviceGuard guard(*context_);
  const void* source = static_cast<const CudaMemory&>(from).data();
  void* target = static_cast<CudaMemory&>(to).data();
  const auto run = [&](auto word) {
    using Word = decltype(word);
    const auto row_words = static_cast<unsigned>(row_bytes / sizeof(Word));
    gather_kernel<Word><<<blocks_for(rows.size(), kThreads / std::min(kThreads, static_cast<int>(row_words))),
                          kThreads, 0, stream()>>>(static_cast<const Word*>(source), pointer(rows),
                                                   rows.size(), row_words, static_cast<Word*>(target));
  };
  if (row_bytes % sizeof(uint4) == 0)
    run(uint4());
  else
    run(std::uint32_t());
  check(cudaGetLastError(), "launch gather");
}

}  // namespace stipple::cuda
