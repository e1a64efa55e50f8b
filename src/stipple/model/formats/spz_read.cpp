// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/edit/flip_axes.h"
#include "stipple/edit/frame.h"
#include "stipple/edit/transform.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/gzip.h"
#include "stipple/io/input_file.h"
#include "stipple/io/zstd.h"
#include "stipple/model/formats/spz.h"
#include "stipple/model/formats/spz_codec.h"
#include "stipple/model/formats/spz_container.h"

namespace stipple {

namespace {

constexpr bool kSwap = std::endian::native != std::endian::little;
constexpr std::size_t kGaussiansPerPiece = std::size_t{1} << 16;
constexpr std::uint64_t kMaxExtensionBytes = std::uint64_t{1} << 20;
constexpr int kKeptDegree = 3;
constexpr int kMaxDegree = 4;
constexpr int kMaxFractionalBits = 30;

std::uint32_t number_at(std::span<const std::byte> bytes, std::size_t offset) {
  return load_number<std::uint32_t>(bytes.data() + offset, kSwap);
}

// Fills the bytes, or throws.
using Source = std::function<void(std::span<std::byte>)>;

template <class Reader>
void read_all(Reader& reader, const std::string& name, std::span<std::byte> to) {
  if (reader.read(to) < to.size()) throw Error(fmt::format("{}: the file is truncated", name));
}

template <class Reader>
void expect_end(Reader& reader, const std::string& name) {
  std::byte more[1];
  if (reader.read(more) > 0)
    throw Error(fmt::format("{}: the file has more data than its header declares", name));
}

SpzHeader parse_header(std::span<const std::byte> bytes, const std::string& name) {
  if (number_at(bytes, 0) != kSpzMagic) throw Error(fmt::format("{}: this is not an .spz file", name));
  const auto byte_at = [&](std::size_t offset) { return std::to_integer<std::uint8_t>(bytes[offset]); };
  SpzHeader header;
  header.version = number_at(bytes, 4);
  header.count = number_at(bytes, 8);
  header.sh_degree = byte_at(12);
  header.fractional_bits = byte_at(13);
  header.antialiased = (byte_at(14) & kSpzAntialiased) != 0;
  header.has_extensions = (byte_at(14) & kSpzHasExtensions) != 0;
  if (header.version < 1 || header.version > 4)
    throw Error(fmt::format("{}: version {} of the format is not known", name, header.version));
  if (header.sh_degree > kMaxDegree)
    throw Error(fmt::format("{}: SH degree {} is not one of 0 to {}", name, header.sh_degree, kMaxDegree));
  if (header.fractional_bits > kMaxFractionalBits)
    throw Error(fmt::format("{}: means cannot have {} bits after the point", name, header.fractional_bits));
  return header;
}

// A few bytes can decompress to any number of bytes. Real models, which are mostly noise, shrink to a half or
// a third; this allows for a thousandth, and for any model that is small.
void check_plausible(const SpzHeader& header, std::uint64_t compressed_bytes, const std::string& name) {
  constexpr std::uint64_t kAlwaysAllowed = std::uint64_t{64} << 20;
  const std::uint64_t bytes = header.count * spz_bytes_per_gaussian(header);
  if (bytes > kAlwaysAllowed && (bytes - kAlwaysAllowed) / 1024 > compressed_bytes)
    throw Error(fmt::format("{}: the file is too small for the {} Gaussians that its header declares", name,
                            header.count));
}

void read_block(const SpzHeader& header, SpzField field, const Source& source, Gaussians& gaussians) {
  const std::size_t each = spz_bytes_per_gaussian(header, field);
  if (each == 0) return;
  std::vector<std::byte> piece;
  for (std::size_t begin = 0; begin < header.count; begin += kGaussiansPerPiece) {
    piece.resize(each * std::min<std::size_t>(kGaussiansPerPiece, header.count - begin));
    source(piece);
    decode_spz(header, field, piece, begin, gaussians);
  }
}

// Reads the extensions, which take so many bytes, and returns the frame of the file if one tells it. Other
// extensions are not about the Gaussians.
std::optional<std::uint32_t> read_extensions(const Source& source, std::uint64_t bytes,
                                             const std::string& name) {
  std::optional<std::uint32_t> frame;
  while (bytes > 0) {
    std::array<std::byte, kSpzExtensionHeaderBytes> head;
    if (bytes < head.size()) throw Error(fmt::format("{}: an extension is truncated", name));
    source(head);
    bytes -= head.size();
    const std::uint32_t size = number_at(head, 4);
    if (size > bytes) throw Error(fmt::format("{}: an extension is truncated", name));
    std::vector<std::byte> content(size);
    source(content);
    bytes -= size;
    if (number_at(head, 0) == kSpzFrameExtension && size == 4) frame = number_at(content, 0);
  }
  return frame;
}

// The extensions of versions 1 to 3 extend to the end of the data.
std::optional<std::uint32_t> read_last_extensions(GzipReader& reader, const std::string& name) {
  std::vector<std::byte> all(kMaxExtensionBytes + 1);
  all.resize(reader.read(all));
  if (all.size() > kMaxExtensionBytes) throw Error(fmt::format("{}: the extensions exceed 1 MiB", name));
  std::size_t taken = 0;
  const Source source = [&](std::span<std::byte> to) {
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(taken), to.size(), to.begin());
    taken += to.size();
  };
  return read_extensions(source, all.size(), name);
}

struct SpzContent {
  SpzHeader header;
  Gaussians gaussians;                 // in the frame of the file
  std::optional<std::uint32_t> frame;  // if the file tells it
};

SpzContent read_gzip(InputFile& file) {
  const std::uint64_t compressed_bytes = file.remaining_bytes();
  GzipReader reader(file);
  const Source source = [&](std::span<std::byte> to) { read_all(reader, file.name(), to); };
  std::array<std::byte, kSpzHeaderBytes> head;
  source(head);
  SpzContent content;
  content.header = parse_header(head, file.name());
  if (content.header.version > 3)
    throw Error(fmt::format("{}: version {} of the format is not known inside of gzip", file.name(),
                            content.header.version));
  check_plausible(content.header, compressed_bytes, file.name());
  content.gaussians = make_gaussians(content.header.count, std::min(content.header.sh_degree, kKeptDegree));
  for (const SpzField field : kSpzFields) read_block(content.header, field, source, content.gaussians);
  if (content.header.has_extensions)
    content.frame = read_last_extensions(reader, file.name());
  else
    expect_end(reader, file.name());
  return content;
}

struct TableEntry {
  std::uint64_t compressed_bytes, bytes;
};

// Checks that the table fits the header and the rest of the file.
std::vector<TableEntry> read_table(InputFile& file, const SpzHeader& header, std::size_t streams,
                                   const Source& source) {
  std::vector<TableEntry> table;
  for (const SpzField field : kSpzFields) {
    const std::uint64_t bytes = header.count * std::uint64_t{spz_bytes_per_gaussian(header, field)};
    table.push_back({0, bytes});
  }
  const auto used = [](const TableEntry& entry) { return entry.bytes > 0; };
  if (static_cast<std::size_t>(std::count_if(table.begin(), table.end(), used)) != streams)
    throw Error(
        fmt::format("{}: the file has {} blocks, which does not fit its header", file.name(), streams));
  std::uint64_t left = file.remaining_bytes();
  if (left < streams * 16) throw Error(fmt::format("{}: the file is truncated", file.name()));
  left -= streams * 16;
  for (TableEntry& entry : table) {
    if (!used(entry)) continue;
    std::array<std::byte, 16> row;
    source(row);
    entry.compressed_bytes = load_number<std::uint64_t>(row.data(), kSwap);
    if (load_number<std::uint64_t>(row.data() + 8, kSwap) != entry.bytes)
      throw Error(fmt::format("{}: the table of blocks does not fit the header", file.name()));
    if (entry.compressed_bytes > left) throw Error(fmt::format("{}: the file is truncated", file.name()));
    left -= entry.compressed_bytes;
  }
  if (left > 0) throw Error(fmt::format("{}: the file has more data than its header declares", file.name()));
  return table;
}

SpzContent read_zstd(InputFile& file) {
  const Source plain = [&](std::span<std::byte> to) {
    const std::span<const std::byte> bytes = file.take(to.size());
    if (bytes.size() < to.size()) throw Error(fmt::format("{}: the file is truncated", file.name()));
    std::copy(bytes.begin(), bytes.end(), to.begin());
  };
  std::array<std::byte, kSpzHeaderBytes4> head;
  plain(head);
  SpzContent content;
  content.header = parse_header(head, file.name());
  if (content.header.version != 4)
    throw Error(fmt::format("{}: version {} of the format is not known without gzip", file.name(),
                            content.header.version));
  const std::uint32_t table_begin = number_at(head, 16);
  if (table_begin < head.size() || table_begin - head.size() > kMaxExtensionBytes)
    throw Error(fmt::format("{}: the table of blocks is not where it should be", file.name()));
  const std::uint64_t extension_bytes = table_begin - head.size();
  if (file.remaining_bytes() < extension_bytes)
    throw Error(fmt::format("{}: the file is truncated", file.name()));
  if (content.header.has_extensions)
    content.frame = read_extensions(plain, extension_bytes, file.name());
  else
    file.skip(extension_bytes);
  check_plausible(content.header, file.remaining_bytes(), file.name());
  const std::vector<TableEntry> table =
      read_table(file, content.header, std::to_integer<std::size_t>(head[15]), plain);
  content.gaussians = make_gaussians(content.header.count, std::min(content.header.sh_degree, kKeptDegree));
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].bytes == 0) continue;
    ZstdReader reader(file, table[i].compressed_bytes);
    const Source source = [&](std::span<std::byte> to) { read_all(reader, file.name(), to); };
    read_block(content.header, kSpzFields[i], source, content.gaussians);
    expect_end(reader, file.name());
  }
  return content;
}

// Brings a model from this frame to ours, rdf.
void leave_frame(std::uint32_t frame, const std::string& name, Gaussians& gaussians) {
  if (frame < 1 || frame > std::size(kSpzFrames))
    throw Error(fmt::format("{}: coordinate system {} is not known", name, frame));
  const std::string_view letters = kSpzFrames[frame - 1];
  if (letters[1] == 'u' || letters[1] == 'd')
    flip_axes(AxisFlip(letters[0] == 'l', letters[1] == 'u', letters[2] == 'b'), gaussians);
  else
    transform(change_of_frame(letters, "rdf"), gaussians);
}

constexpr std::size_t kGzipMark = 3;  // bytes: two for gzip, and one for its only method, deflate

bool starts_with_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= kGzipMark && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b} &&
         bytes[2] == std::byte{8};
}

}  // namespace

bool is_spz(std::span<const std::byte> head) {
  return starts_with_gzip(head) || (head.size() >= 4 && number_at(head, 0) == kSpzMagic);
}

Gaussians load_spz(const std::filesystem::path& path, ModelFacts& facts) {
  InputFile file(path);
  SpzContent content = starts_with_gzip(file.peek(kGzipMark)) ? read_gzip(file) : read_zstd(file);
  facts.format = fmt::format("SPZ version {}", content.header.version);
  facts.antialiased = content.header.antialiased;
  if (content.frame == 0u) content.frame.reset();
  facts.frame_is_assumed = !content.frame;
  if (content.header.sh_degree > kKeptDegree) facts.left_out = "spherical harmonics of degree 4";
  leave_frame(content.frame.value_or(kSpzFrameRub), file.name(), content.gaussians);
  return std::move(content.gaussians);
}

}  // namespace stipple
