// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <new>
#include <utility>

#include "stipple/core/checksum.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr std::size_t kPartBytes = std::size_t{1} << 18;  // compressed by one thread
constexpr std::size_t kBatchBytes = 32 * kPartBytes;
constexpr std::size_t kWindowBytes = std::size_t{1} << 15;  // how far back matches may refer
constexpr std::size_t kInputBytes = std::size_t{1} << 16;
constexpr int kRawDeflate = -15;
constexpr int kGzip = 15 + 16;
constexpr int kMemoryLevel = 9;

Bytef* as_zlib(const std::byte* bytes) { return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes)); }

struct DeflateStream : z_stream {
  DeflateStream() : z_stream{} {
    if (deflateInit2(this, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRawDeflate, kMemoryLevel,
                     Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
  }
  ~DeflateStream() { deflateEnd(this); }
  DeflateStream(const DeflateStream&) = delete;
  DeflateStream& operator=(const DeflateStream&) = delete;
};

// Compresses a part of a stream. Unless it is the last one, it ends at a whole byte, so that parts can be
// concatenated.
std::vector<std::byte> deflate_part(std::span<const std::byte> history, std::span<const std::byte> part,
                                    bool last) {
  DeflateStream stream;
  if (!history.empty())
    deflateSetDictionary(&stream, as_zlib(history.data()), static_cast<uInt>(history.size()));
  stream.next_in = as_zlib(part.data());
  stream.avail_in = static_cast<uInt>(part.size());
  std::vector<std::byte> result(deflateBound(&stream, static_cast<uLong>(part.size())) + 16);
  stream.next_out = as_zlib(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
  result.erase(result.end() - static_cast<std::ptrdiff_t>(stream.avail_out), result.end());
  return result;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  static_assert(std::endian::native == std::endian::little);
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

GzipWriter::GzipWriter(ByteSink sink) : sink_(std::move(sink)) {
  constexpr std::array<std::uint8_t, 10> kHeader = {0x1f, 0x8b, 8, 0, 0,
                                                    0,    0,    0, 0, 255};  // no time, no name
  sink_(std::as_bytes(std::span(kHeader)));
}

void GzipWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(bytes.size(), history_ + kBatchBytes - batch_.size());
    batch_.insert(batch_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    bytes = bytes.subspan(count);
    if (batch_.size() == history_ + kBatchBytes) compress_batch(false);
  }
}

void GzipWriter::compress_batch(bool last) {
  const std::span<const std::byte> batch(batch_);
  const std::size_t parts = std::max<std::size_t>(1, chunk_count(batch.size() - history_, kPartBytes));
  std::vector<std::vector<std::byte>> compressed(parts);
  parallel_for(parts, [&](std::size_t i) {
    const std::size_t begin = history_ + i * kPartBytes;
    const std::size_t end = std::min(batch.size(), begin + kPartBytes);
    const std::size_t history = std::min(begin, kWindowBytes);
    compressed[i] = deflate_part(batch.subspan(begin - history, history), batch.subspan(begin, end - begin),
                                 last && i + 1 == parts);
  });
  for (const std::vector<std::byte>& part : compressed) sink_(part);
  checksum_ = checksum(checksum_, batch.subspan(history_));
  count_ += batch.size() - history_;
  history_ = std::min(batch.size(), kWindowBytes);
  batch_.erase(batch_.begin(), batch_.end() - static_cast<std::ptrdiff_t>(history_));
}

void GzipWriter::finish() {
  compress_batch(true);
  sink_(bytes_of(checksum_));
  sink_(bytes_of(static_cast<std::uint32_t>(count_)));  // modulo 2^32, as the format wants
}

struct GzipReader::Stream : z_stream {
  Stream() : z_stream{} {
    if (inflateInit2(this, kGzip) != Z_OK) throw std::bad_alloc();
  }
  ~Stream() { inflateEnd(this); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  std::array<std::byte, kInputBytes> input;
  bool at_end = false;  // of a member
};

GzipReader::GzipReader(InputFile& file) : file_(file), stream_(std::make_unique<Stream>()) {}

GzipReader::~GzipReader() = default;

std::size_t GzipReader::read(std::span<std::byte> to) {
  Stream& stream = *stream_;
  std::size_t filled = 0;
  while (filled < to.size()) {
    if (stream.avail_in == 0) {
      const std::span<const std::byte> next = file_.take(kInputBytes);
      std::copy(next.begin(), next.end(), stream.input.begin());
      stream.next_in = as_zlib(stream.input.data());
      stream.avail_in = static_cast<uInt>(next.size());
    }
    if (stream.avail_in == 0) {
      if (stream.at_end) break;
      throw Error(fmt::format("{}: the file is truncated", file_.name()));
    }
    if (stream.at_end) inflateReset(&stream);  // another member follows
    const std::size_t room = std::min<std::size_t>(to.size() - filled, kBatchBytes);
    stream.next_out = as_zlib(to.data() + filled);
    stream.avail_out = static_cast<uInt>(room);
    const int result = inflate(&stream, Z_NO_FLUSH);
    filled += room - stream.avail_out;
    stream.at_end = result == Z_STREAM_END;
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      throw Error(fmt::format("{}: the compressed data are damaged", file_.name()));
  }
  return filled;
}

}  // namespace stipple
