// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "stipple/core/parallel.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/output_file.h"
#include "stipple/model/formats/chunk_order.h"
#include "stipple/model/formats/compressed_ply.h"
#include "stipple/model/formats/compressed_ply_code.h"
#include "stipple/model/formats/ply_comments.h"
#include "stipple/model/formats/row_io.h"

namespace stipple {

namespace {

using namespace compressed_ply;

std::span<const std::uint32_t> members_of(std::size_t chunk, std::span<const std::uint32_t> order) {
  const std::size_t begin = chunk * kChunkSize;
  return order.subspan(begin, std::min(kChunkSize, order.size() - begin));
}

// Whether the format holds every position exactly if the Gaussians stay in this order.
bool holds_positions(const Gaussians& gaussians, std::span<const std::uint32_t> order) {
  std::atomic<bool> exact = true;
  parallel_for(chunk_count(order.size(), kChunkSize), [&](std::size_t chunk) {
    if (!exact) return;
    const std::span<const std::uint32_t> members = members_of(chunk, order);
    const Bounds bounds = position_bounds(gaussians, members);
    for (const std::uint32_t i : members)
      if (!(unpack_position(pack_position(gaussians.mean[i], bounds), bounds) == gaussians.mean[i]))
        exact = false;
  });
  return exact;
}

// A model that was loaded from such a file keeps its order: in other chunks, it would be rounded again.
std::vector<std::uint32_t> order_in_file(const Gaussians& gaussians) {
  std::vector<std::uint32_t> order(gaussians.size());
  std::iota(order.begin(), order.end(), 0u);
  if (holds_positions(gaussians, order)) return order;
  return chunk_order(gaussians.mean, kChunkSize);
}

std::string header_text(const Gaussians& gaussians, bool antialiased) {
  std::string text = "ply\nformat binary_little_endian 1.0\n";
  if (antialiased) text += fmt::format("comment {}\n", kAntialiasedComment);
  text += fmt::format("element chunk {}\n", chunk_count(gaussians.size(), kChunkSize));
  for (const std::string_view name : kChunkNames) text += fmt::format("property float {}\n", name);
  text += fmt::format("element vertex {}\n", gaussians.size());
  for (const std::string_view name : kPackedNames) text += fmt::format("property uint {}\n", name);
  const int rest_count = 3 * (gaussians.sh_count() - 1);
  if (rest_count > 0) text += fmt::format("element sh {}\n", gaussians.size());
  for (int i = 0; i < rest_count; ++i) text += fmt::format("property uchar f_rest_{}\n", i);
  return text + "end_header\n";
}

void write_chunk(const Chunk& chunk, std::byte* row) {
  for (const Bounds& bounds : {chunk.position, chunk.log_scale, chunk.color})
    for (const Vec3f& corner : {bounds.low, bounds.high})
      for (int axis = 0; axis < 3; ++axis, row += 4) store_little(corner[axis], row);
}

void write_packed(const Packed& packed, std::byte* row) {
  for (const std::uint32_t number : {packed.position, packed.rotation, packed.scale, packed.color}) {
    store_little(number, row);
    row += 4;
  }
}

void write_harmonics(const Gaussians& gaussians, std::size_t i, std::byte* row) {
  const auto sh_count = static_cast<std::size_t>(gaussians.sh_count());
  const std::size_t rest = sh_count - 1;
  const float* const sh = &gaussians.sh[i * sh_count + 1].x;  // [k - 1][channel]
  std::array<std::uint8_t, 3 * 15> bytes;
  for (std::size_t k = 0; k < 3 * rest; ++k) bytes[k] = pack_harmonic(sh[k]);
  for (std::size_t channel = 0; channel < 3; ++channel)
    for (std::size_t k = 0; k < rest; ++k) *row++ = static_cast<std::byte>(bytes[3 * k + channel]);
}

}  // namespace

void save_compressed_ply(const Gaussians& gaussians, const std::filesystem::path& path,
                         const SaveModelOptions& options) {
  OutputFile file(path);
  const std::vector<std::uint32_t> order = order_in_file(gaussians);
  std::vector<Chunk> chunks(chunk_count(order.size(), kChunkSize));
  parallel_for(chunks.size(),
               [&](std::size_t chunk) { chunks[chunk] = bounds_of(gaussians, members_of(chunk, order)); });
  file.write(header_text(gaussians, options.antialiased));
  write_rows(file, chunks.size(), 4 * kChunkNames.size(),
             [&](std::size_t chunk, std::byte* row) { write_chunk(chunks[chunk], row); });
  write_rows(file, order.size(), 4 * kPackedNames.size(), [&](std::size_t i, std::byte* row) {
    write_packed(pack(gaussians, order[i], chunks[i / kChunkSize]), row);
  });
  if (gaussians.sh_degree > 0)
    write_rows(file, order.size(), 3 * static_cast<std::size_t>(gaussians.sh_count() - 1),
               [&](std::size_t i, std::byte* row) { write_harmonics(gaussians, order[i], row); });
  file.commit();
}

}  // namespace stipple
