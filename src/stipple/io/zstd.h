// SPDX-License-Identifier: Apache-2.0
#pragma once
// Data in the format of Zstandard.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stipple/io/input_file.h"

namespace stipple {

// Compresses `count` bytes into one frame, on several cores. The result depends on the bytes and the level
// alone.
class ZstdWriter {
 public:
  ZstdWriter(std::uint64_t count, int level);
  ~ZstdWriter();
  ZstdWriter(const ZstdWriter&) = delete;
  ZstdWriter& operator=(const ZstdWriter&) = delete;

  void write(std::span<const std::byte> bytes);
  std::vector<std::byte> finish();

 private:
  void compress(std::span<const std::byte> bytes, bool last);

  struct Context;
  std::unique_ptr<Context> context_;
  std::vector<std::byte> result_;
};

// Decompresses the next `count` bytes of a file.
class ZstdReader {
 public:
  ZstdReader(InputFile& file, std::uint64_t count);
  ~ZstdReader();
  ZstdReader(const ZstdReader&) = delete;
  ZstdReader& operator=(const ZstdReader&) = delete;

  // Fills `to`, or less of it if the data end before, and returns how much. Throws Error if the data are
  // damaged or the file is truncated; so, data are complete only if a call has returned less than it could.
  std::size_t read(std::span<std::byte> to);

 private:
  struct Context;
  InputFile& file_;
  std::uint64_t left_;  // compressed bytes to take from the file
  std::unique_ptr<Context> context_;
};

}  // namespace stipple
