// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/zstd.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <new>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 17;
constexpr int kMaxWorkers = 8;  // each takes some 70 MB

}  // namespace

struct ZstdWriter::Context {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ~Context() { ZSTD_freeCCtx(zstd); }
};

ZstdWriter::ZstdWriter(std::uint64_t count, int level) : context_(std::make_unique<Context>()) {
  ZSTD_CCtx* const zstd = context_->zstd;
  if (zstd == nullptr) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setPledgedSrcSize(zstd, count);
  // One worker and more give the same result, unlike none.
  ZSTD_CCtx_setParameter(zstd, ZSTD_c_nbWorkers, std::clamp(thread_count(), 1, kMaxWorkers));
}

ZstdWriter::~ZstdWriter() = default;

void ZstdWriter::compress(std::span<const std::byte> bytes, bool last) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (std::size_t left = 1; left > 0;) {
    const std::size_t begin = result_.size();
    result_.resize(begin + kPieceBytes);
    ZSTD_outBuffer out{result_.data() + begin, kPieceBytes, 0};
    left = ZSTD_compressStream2(context_->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
    result_.resize(begin + out.pos);
    if (ZSTD_isError(left)) throw std::bad_alloc();  // the number of bytes is right, so nothing else can fail
    if (!last) left = in.size - in.pos;
  }
}

void ZstdWriter::write(std::span<const std::byte> bytes) {
  if (!bytes.empty()) compress(bytes, false);
}

std::vector<std::byte> ZstdWriter::finish() {
  compress({}, true);
  return std::move(result_);
}

struct ZstdReader::Context {
  ZSTD_DCtx* zstd = ZSTD_createDCtx();
  std::vector<std::byte> input = std::vector<std::byte>(kPieceBytes);
  ZSTD_inBuffer in{input.data(), 0, 0};
  bool at_end = true;  // of a frame
  ~Context() { ZSTD_freeDCtx(zstd); }
};

ZstdReader::ZstdReader(InputFile& file, std::uint64_t count)
    : file_(file), left_(count), context_(std::make_unique<Context>()) {
  if (context_->zstd == nullptr) throw std::bad_alloc();
}

ZstdReader::~ZstdReader() = default;

std::size_t ZstdReader::read(std::span<std::byte> to) {
  Context& context = *context_;
  ZSTD_outBuffer out{to.data(), to.size(), 0};
  while (out.pos < out.size) {
    if (context.in.pos == context.in.size) {
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left_, kPieceBytes));
      const std::span<const std::byte> next = file_.take(count);
      if (next.size() < count) throw Error(fmt::format("{}: the file is truncated", file_.name()));
      std::copy(next.begin(), next.end(), context.input.begin());
      context.in = {context.input.data(), count, 0};
      left_ -= count;
    }
    const bool all_given = context.in.pos == context.in.size;
    if (all_given && context.at_end) break;
    const std::size_t before = out.pos;
    const std::size_t result = ZSTD_decompressStream(context.zstd, &out, &context.in);
    // Without input, it can only return what it still holds.
    if (ZSTD_isError(result) || (all_given && out.pos == before && result != 0))
      throw Error(fmt::format("{}: the compressed data are damaged", file_.name()));
    context.at_end = result == 0;
  }
  return out.pos;
}

}  // namespace stipple
