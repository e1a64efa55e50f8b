// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tables with rows of equal size, read and written in large pieces and converted on all cores.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"

namespace stipple {

inline constexpr std::size_t kRowsPerPiece = 1 << 15;
inline constexpr std::size_t kRowsPerTask = 1 << 10;

// Calls read(row, its first byte) for each of the next `count` rows of the file, in any order.
template <class Read>
void read_rows(InputFile& file, std::size_t count, std::size_t row_bytes, const Read& read) {
  for (std::size_t begin = 0; begin < count; begin += kRowsPerPiece) {
    const std::size_t rows = std::min(kRowsPerPiece, count - begin);
    const std::span<const std::byte> bytes = file.take(rows * row_bytes);
    if (bytes.size() < rows * row_bytes) throw Error(fmt::format("{}: the file is truncated", file.name()));
    parallel_for(
        rows, [&](std::size_t i) { read(begin + i, bytes.data() + i * row_bytes); }, kRowsPerTask);
  }
}

// Calls write(row, its first byte) for each of `count` rows, in any order, and appends them to the file.
template <class Write>
void write_rows(OutputFile& file, std::size_t count, std::size_t row_bytes, const Write& write) {
  std::vector<std::byte> bytes(std::min(kRowsPerPiece, count) * row_bytes);
  for (std::size_t begin = 0; begin < count; begin += kRowsPerPiece) {
    const std::size_t rows = std::min(kRowsPerPiece, count - begin);
    parallel_for(
        rows, [&](std::size_t i) { write(begin + i, bytes.data() + i * row_bytes); }, kRowsPerTask);
    file.write(std::span(bytes).first(rows * row_bytes));
  }
}

}  // namespace stipple
