// SPDX-License-Identifier: Apache-2.0
#pragma once
// Files in the format of gzip.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "stipple/io/byte_sink.h"
#include "stipple/io/input_file.h"

namespace stipple {

// Compresses on all cores. The result is a single member, since many readers stop after the first one, and
// depends on the bytes alone.
class GzipWriter {
 public:
  explicit GzipWriter(ByteSink sink);
  void write(std::span<const std::byte> bytes);
  void finish();

 private:
  void compress_batch(bool last);

  ByteSink sink_;
  std::vector<std::byte> batch_;  // starts with bytes of the batch before, to which matches may refer
  std::size_t history_ = 0;       // how many those are
  std::uint32_t checksum_ = 0;
  std::uint64_t count_ = 0;
};

// Decompresses the rest of a file.
class GzipReader {
 public:
  explicit GzipReader(InputFile& file);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Fills `to`, or less of it if the data end before, and returns how much. Throws Error if the data are
  // damaged or the file is truncated; so, data are complete only if a call has returned less than it could.
  std::size_t read(std::span<std::byte> to);

 private:
  struct Stream;
  InputFile& file_;
  std::unique_ptr<Stream> stream_;
};

}  // namespace stipple
