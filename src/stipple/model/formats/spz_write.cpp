// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/gzip.h"
#include "stipple/io/output_file.h"
#include "stipple/io/zstd.h"
#include "stipple/model/formats/spz.h"
#include "stipple/model/formats/spz_codec.h"
#include "stipple/model/formats/spz_container.h"

namespace stipple {

namespace {

constexpr std::size_t kGaussiansPerPiece = std::size_t{1} << 16;
constexpr int kZstdLevel = 12;

template <class T>
void append(std::vector<std::byte>& to, T value) {
  to.resize(to.size() + sizeof(T));
  store_little(value, to.data() + to.size() - sizeof(T));
}

// The part of the header that all versions have, except for its last byte.
std::vector<std::byte> header_bytes(const SpzHeader& header) {
  std::vector<std::byte> bytes;
  append(bytes, kSpzMagic);
  append(bytes, header.version);
  append(bytes, header.count);
  append(bytes, static_cast<std::uint8_t>(header.sh_degree));
  append(bytes, static_cast<std::uint8_t>(header.fractional_bits));
  append(bytes, static_cast<std::uint8_t>((header.antialiased ? kSpzAntialiased : 0) |
                                          (header.has_extensions ? kSpzHasExtensions : 0)));
  return bytes;
}

std::vector<std::byte> frame_extension(SpzFrame frame) {
  std::vector<std::byte> bytes;
  append(bytes, kSpzFrameExtension);
  append(bytes, std::uint32_t{4});
  append(bytes, frame == SpzFrame::kRdf ? kSpzFrameRdf : kSpzFrameRub);
  return bytes;
}

struct Writer {
  const Gaussians& gaussians;
  SpzHeader header;
  SpzFrame frame;

  void encode_block(SpzField field, const ByteSink& sink) const {
    const bool flips = frame == SpzFrame::kRub;
    const AxisFlip flip(false, flips, flips);
    const std::size_t each = spz_bytes_per_gaussian(header, field);
    std::vector<std::byte> piece;
    for (std::size_t begin = 0; begin < gaussians.size() && each > 0; begin += kGaussiansPerPiece) {
      piece.resize(each * std::min(kGaussiansPerPiece, gaussians.size() - begin));
      encode_spz(header, field, gaussians, flip, begin, piece);
      sink(piece);
    }
  }

  void write_gzip(const ByteSink& sink) const {
    GzipWriter gzip(sink);
    std::vector<std::byte> head = header_bytes(header);
    append(head, std::uint8_t{0});  // reserved
    gzip.write(head);
    for (const SpzField field : kSpzFields)
      encode_block(field, [&](std::span<const std::byte> bytes) { gzip.write(bytes); });
    if (header.has_extensions) gzip.write(frame_extension(frame));
    gzip.finish();
  }

  // The table comes first and needs the compressed sizes, so the blocks are kept until all are compressed.
  void write_zstd(const ByteSink& sink) const {
    std::vector<std::byte> table;
    std::vector<std::vector<std::byte>> blocks;
    for (const SpzField field : kSpzFields) {
      const std::uint64_t bytes = gaussians.size() * std::uint64_t{spz_bytes_per_gaussian(header, field)};
      if (bytes == 0) continue;
      ZstdWriter zstd(bytes, kZstdLevel);
      encode_block(field, [&](std::span<const std::byte> piece) { zstd.write(piece); });
      blocks.push_back(zstd.finish());
      append(table, std::uint64_t{blocks.back().size()});
      append(table, bytes);
    }
    const std::vector<std::byte> extension = frame_extension(frame);
    std::vector<std::byte> head = header_bytes(header);
    append(head, static_cast<std::uint8_t>(blocks.size()));
    append(head, static_cast<std::uint32_t>(kSpzHeaderBytes4 + extension.size()));
    head.resize(kSpzHeaderBytes4);
    sink(head);
    sink(extension);
    sink(table);
    for (const std::vector<std::byte>& block : blocks) sink(block);
  }
};

Writer writer_of(const Gaussians& gaussians, const std::string& name, const SaveModelOptions& options) {
  if (options.spz_version < 2 || options.spz_version > 4)
    throw Error(
        fmt::format("{}: version {} of the format is not one of 2, 3 and 4", name, options.spz_version));
  if (gaussians.size() > std::numeric_limits<std::int32_t>::max())
    throw Error(fmt::format("{}: the format cannot hold {} Gaussians", name, gaussians.size()));
  Writer writer{gaussians, {}, options.spz_frame};
  writer.header.version = static_cast<std::uint32_t>(options.spz_version);
  writer.header.count = static_cast<std::uint32_t>(gaussians.size());
  writer.header.sh_degree = gaussians.sh_degree;
  writer.header.fractional_bits = spz_fractional_bits(gaussians);
  writer.header.antialiased = options.antialiased;
  // Readers of versions 2 and 3 assume rub; not all of them know extensions.
  writer.header.has_extensions = options.spz_version == 4 || options.spz_frame == SpzFrame::kRdf;
  return writer;
}

}  // namespace

void write_spz(const Gaussians& gaussians, const std::string& name, const SaveModelOptions& options,
               const ByteSink& sink) {
  const Writer writer = writer_of(gaussians, name, options);
  if (options.spz_version == 4)
    writer.write_zstd(sink);
  else
    writer.write_gzip(sink);
}

void save_spz(const Gaussians& gaussians, const std::filesystem::path& path,
              const SaveModelOptions& options) {
  OutputFile file(path);
  write_spz(gaussians, path.string(), options, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

}  // namespace stipple
