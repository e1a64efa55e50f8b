// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/input_file.h"
#include "stipple/io/ply/ply_columns.h"
#include "stipple/io/ply/ply_header.h"
#include "stipple/io/ply/ply_rows.h"
#include "stipple/model/formats/compressed_ply.h"
#include "stipple/model/formats/compressed_ply_code.h"
#include "stipple/model/formats/ply_comments.h"
#include "stipple/model/formats/row_io.h"

namespace stipple {

namespace {

using namespace compressed_ply;

// An element as a table: where in a row its properties are.
struct Table {
  std::size_t count = 0;
  std::size_t row_bytes = 0;
  std::vector<std::size_t> offsets;
};

// Reads the elements in the order of the file: first the chunks, then the Gaussians, which refer to them.
class Reader {
 public:
  Reader(InputFile& file, const PlyHeader& header) : file_(file), header_(header) {}
  Gaussians read();

 private:
  const PlyElement* find(std::string_view name) const;
  Table table_of(const PlyElement& element, const std::vector<std::string>& names, PlyType type) const;
  void check_order() const;
  void read_chunks();
  void allocate();
  void read_gaussians();
  void read_harmonics();
  void check_end() const;
  [[noreturn]] void fail(std::string_view reason) const {
    throw Error(fmt::format("{}: {}", file_.name(), reason));
  }

  InputFile& file_;
  const PlyHeader& header_;
  Table chunk_table_, vertex_table_, sh_table_;
  int sh_degree_ = 0;
  std::vector<Chunk> chunks_;
  Gaussians gaussians_;
};

const PlyElement* Reader::find(std::string_view name) const {
  const PlyElement* found = nullptr;
  for (const PlyElement& element : header_.elements) {
    if (element.name != name) continue;
    if (found != nullptr) fail(fmt::format("element '{}' is declared twice", name));
    found = &element;
  }
  return found;
}

Table Reader::table_of(const PlyElement& element, const std::vector<std::string>& names, PlyType type) const {
  Table table;
  table.offsets.resize(names.size());
  std::vector<bool> found(names.size());
  for (const PlyProperty& property : element.properties) {
    if (property.length_type)
      fail(fmt::format("element '{}' has a list, which a compressed .ply must not have", element.name));
    const auto at = std::find(names.begin(), names.end(), property.name);
    if (at != names.end()) {
      const auto i = static_cast<std::size_t>(at - names.begin());
      if (property.type != type)
        fail(fmt::format("property '{}' of element '{}' has the wrong type", property.name, element.name));
      if (found[i]) fail(fmt::format("property '{}' is declared twice", property.name));
      found[i] = true;
      table.offsets[i] = table.row_bytes;
    }
    table.row_bytes += size_bytes(property.type);
  }
  const auto missing = std::find(found.begin(), found.end(), false);
  if (missing != found.end())
    fail(fmt::format("property '{}' of element '{}' is missing",
                     names[static_cast<std::size_t>(missing - found.begin())], element.name));
  if (element.count > file_.remaining_bytes() / table.row_bytes)
    fail(fmt::format("the header declares {} rows of '{}', which do not fit into the file", element.count,
                     element.name));
  table.count = static_cast<std::size_t>(element.count);
  return table;
}

void Reader::read_chunks() {
  chunks_.resize(chunk_table_.count);
  read_rows(file_, chunks_.size(), chunk_table_.row_bytes, [&](std::size_t i, const std::byte* row) {
    Chunk& chunk = chunks_[i];
    Vec3f* const parts[] = {&chunk.position.low,   &chunk.position.high, &chunk.log_scale.low,
                            &chunk.log_scale.high, &chunk.color.low,     &chunk.color.high};
    for (std::size_t k = 0; k < chunk_table_.offsets.size(); ++k)
      (*parts[k / 3])[static_cast<int>(k % 3)] = load_little<float>(row + chunk_table_.offsets[k]);
  });
}

void Reader::read_gaussians() {
  read_rows(file_, vertex_table_.count, vertex_table_.row_bytes, [&](std::size_t i, const std::byte* row) {
    const auto number = [&](std::size_t k) {
      return load_little<std::uint32_t>(row + vertex_table_.offsets[k]);
    };
    unpack({number(0), number(1), number(2), number(3)}, chunks_[i / kChunkSize], i, gaussians_);
  });
}

void Reader::read_harmonics() {
  const auto sh_count = static_cast<std::size_t>(gaussians_.sh_count());
  read_rows(file_, sh_table_.count, sh_table_.row_bytes, [&](std::size_t i, const std::byte* row) {
    Vec3f* const sh = gaussians_.sh.data() + i * sh_count;
    const std::size_t* offset = sh_table_.offsets.data();
    for (int channel = 0; channel < 3; ++channel)
      for (std::size_t k = 1; k < sh_count; ++k)
        sh[k][channel] = unpack_harmonic(std::to_integer<std::uint8_t>(row[*offset++]));
  });
}

// Also limits the memory: every Gaussian has its bytes in the file.
void Reader::allocate() {
  if (chunk_table_.count != chunk_count(vertex_table_.count, kChunkSize))
    fail(fmt::format("{} Gaussians need {} chunks of {}, but the file has {}", vertex_table_.count,
                     chunk_count(vertex_table_.count, kChunkSize), kChunkSize, chunk_table_.count));
  if (sh_degree_ > 0 && sh_table_.count != vertex_table_.count)
    fail(fmt::format("the elements 'vertex' and 'sh' have {} and {} rows, which must be as many",
                     vertex_table_.count, sh_table_.count));
  gaussians_ = make_gaussians(vertex_table_.count, sh_degree_);
}

void Reader::check_order() const {
  std::string order;
  for (const PlyElement& element : header_.elements)
    if (element.name == "chunk" || element.name == "vertex" || element.name == "sh") order += element.name[0];
  if (order != "cv" && order != "cvs")
    fail("a compressed .ply has the elements 'chunk', 'vertex' and, if need be, 'sh', in this order");
}

void Reader::check_end() const {
  const PlyElement& last = header_.elements.back();
  const std::size_t row_bytes = last.min_row_bytes(header_.format);
  if (row_bytes > 0 && file_.remaining_bytes() >= row_bytes)
    fail("the file has more data than its header declares");
}

Gaussians Reader::read() {
  if (header_.format != PlyFormat::kBinaryLittleEndian)
    fail("a compressed .ply must have the format binary_little_endian");
  check_order();
  const PlyElement* const chunk = find("chunk");
  const bool has_colors =
      std::any_of(chunk->properties.begin(), chunk->properties.end(),
                  [](const PlyProperty& p) { return p.name == kChunkNames[kOldChunkNames]; });
  const std::size_t chunk_names = has_colors ? kChunkNames.size() : kOldChunkNames;
  chunk_table_ =
      table_of(*chunk, {kChunkNames.begin(), kChunkNames.begin() + chunk_names}, PlyType::kFloat32);
  vertex_table_ = table_of(*find("vertex"), {kPackedNames.begin(), kPackedNames.end()}, PlyType::kUint32);
  if (const PlyElement* const sh = find("sh")) {
    std::vector<std::string> names;
    for (std::size_t k = 0; k < sh->properties.size(); ++k) names.push_back(fmt::format("f_rest_{}", k));
    sh_degree_ = ply_sh_degree(static_cast<int>(names.size()), file_.name());
    if (sh_degree_ > 0) sh_table_ = table_of(*sh, names, PlyType::kUint8);
  }
  allocate();
  for (const PlyElement& element : header_.elements) {
    if (element.name == "chunk") {
      read_chunks();
    } else if (element.name == "vertex") {
      read_gaussians();
    } else if (element.name == "sh" && sh_degree_ > 0) {
      read_harmonics();
    } else {
      skip_ply_rows(file_, element, header_.format);
    }
  }
  check_end();
  return std::move(gaussians_);
}

}  // namespace

bool is_compressed_ply(std::span<const std::byte> head) {
  const std::string_view text = as_text(head);
  const std::string_view header = text.substr(0, text.find("\nend_header"));
  return header.starts_with("ply") && header.find("\nelement chunk ") != header.npos &&
         header.find(kPackedNames[0]) != header.npos;
}

Gaussians load_compressed_ply(const std::filesystem::path& path, ModelFacts& facts) {
  InputFile file(path);
  const PlyHeader header = read_ply_header(file);
  facts.format = "compressed .ply";
  facts.antialiased = antialiased_in(header.comments);
  return Reader(file, header).read();
}

}  // namespace stipple
