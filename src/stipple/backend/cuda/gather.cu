// SPDX-License-Identifier: Apache-2.0
// copy_rows: copies rows of an array in a given order, one thread per word, so that warps access whole rows.
#include <algorithm>
#include <cassert>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 256;

// The memory from row 0 and its first word on. A word has 2, 4 or 16 bytes.
template <class Word>
struct RowsOf {
  Word* data;
  std::size_t row_words;
};

template <class Word>
__global__ void copy_rows_kernel(RowsOf<const Word> from, const std::uint32_t* rows, RowsOf<Word> to,
                                 std::size_t count, unsigned words) {
  const unsigned lanes = min(words, static_cast<unsigned>(kThreads)), rows_per_block = kThreads / lanes;
  const unsigned row_in_block = threadIdx.x / lanes;
  const std::size_t i = std::size_t{blockIdx.x} * rows_per_block + row_in_block;
  if (row_in_block >= rows_per_block || i >= count) return;
  const bool is_zero = rows && rows[i] == Backend::kNoRow;
  const std::size_t row = rows ? rows[i] : i;
  for (unsigned word = threadIdx.x % lanes; word < words; word += lanes)
    to.data[i * to.row_words + word] = is_zero ? Word{} : from.data[row * from.row_words + word];
}

}  // namespace

void CudaBackend::copy_rows(const Memory& from, const RowPart& from_part,
                            const DeviceArray<std::uint32_t>* rows, Memory& to, const RowPart& to_part,
                            std::size_t count, std::size_t halves) {
  assert(&from != &to);
  if (count == 0 || halves == 0) return;
  const DeviceGuard guard(*context_);
  if (is_on_host(static_cast<CudaMemory&>(to).data())) context_->host_has_changed();
  const auto start = [](const Memory& memory, const RowPart& part) {
    return static_cast<std::uint16_t*>(static_cast<const CudaMemory&>(memory).data()) +
           part.first_row * part.row_halves + part.first_half;
  };
  const auto run = [&](auto word) {
    using Word = decltype(word);
    constexpr std::size_t kHalves = sizeof(Word) / sizeof(std::uint16_t);
    const auto row_words = static_cast<unsigned>(halves / kHalves);
    const RowsOf<const Word> source{reinterpret_cast<const Word*>(start(from, from_part)),
                                    from_part.row_halves / kHalves};
    const RowsOf<Word> target{reinterpret_cast<Word*>(start(to, to_part)), to_part.row_halves / kHalves};
    copy_rows_kernel<Word>
        <<<blocks_for(count, kThreads / std::min(kThreads, static_cast<int>(row_words))), kThreads, 0,
           stream()>>>(source, rows ? pointer(*rows) : nullptr, target, count, row_words);
  };
  const auto fit = [&](std::size_t word_bytes) {
    const std::size_t each = word_bytes / sizeof(std::uint16_t);
    for (const RowPart& part : {from_part, to_part})
      if (part.row_halves % each != 0 || part.first_half % each != 0) return false;
    return halves % each == 0;
  };
  if (fit(sizeof(uint4)))
    run(uint4());
  else if (fit(sizeof(std::uint32_t)))
    run(std::uint32_t());
  else
    run(std::uint16_t());
  check(cudaGetLastError(), "launch copy_rows");
}

}  // namespace stipple::cuda
