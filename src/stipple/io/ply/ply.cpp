// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/ply/ply.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <span>
#include <string>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"
#include "stipple/io/ply/ply_columns.h"
#include "stipple/io/ply/ply_header.h"
#include "stipple/io/ply/ply_rows.h"

namespace stipple {

namespace {

constexpr std::size_t kRowsPerWrite = 4096;

std::size_t find_vertex_element(const PlyHeader& header, const std::string& file_name) {
  const auto is_vertex = [](const PlyElement& element) { return element.name == "vertex"; };
  const auto count = std::count_if(header.elements.begin(), header.elements.end(), is_vertex);
  if (count == 0) throw Error(fmt::format("{}: there is no element 'vertex'", file_name));
  if (count > 1) throw Error(fmt::format("{}: element 'vertex' is declared twice", file_name));
  const auto found = std::find_if(header.elements.begin(), header.elements.end(), is_vertex);
  return static_cast<std::size_t>(found - header.elements.begin());
}

// Without this check, a file whose header declares too few vertices would load as a smaller model.
void check_end(InputFile& file, const PlyHeader& header, std::size_t vertex_index) {
  const auto has_rows = [](const PlyElement& element) {
    return element.count > 0 && !element.properties.empty();
  };
  const auto after = header.elements.begin() + static_cast<std::ptrdiff_t>(vertex_index) + 1;
  if (std::any_of(after, header.elements.end(), has_rows)) return;  // the remaining data belong to them
  const PlyElement& vertex = header.elements[vertex_index];
  if (another_ply_row_follows(file, vertex, header.format)) {
    throw Error(fmt::format("{}: the file has more data than the {} vertices that its header declares",
                            file.name(), vertex.count));
  }
}

[[maybe_unused]] bool sizes_agree(const Gaussians& gaussians) {
  bool agree = true;
  for_each_parameter(
      [&](int per_gaussian, const auto& array) {
        agree = agree && array.size() == gaussians.size() * static_cast<std::size_t>(per_gaussian);
      },
      gaussians);
  return agree;
}

std::string header_text(const Gaussians& gaussians, std::string_view comment) {
  assert(comment.find('\n') == comment.npos);
  std::string text = "ply\nformat binary_little_endian 1.0\n";
  if (!comment.empty()) text += fmt::format("comment {}\n", comment);
  text += fmt::format("element vertex {}\n", gaussians.size());
  const auto add = [&text](std::string_view name) { text += fmt::format("property float {}\n", name); };
  for (int slot = 0; slot < kRestSlot; ++slot) {
    if (slot == kBaseSlot) {
      for (const char* normal : {"nx", "ny", "nz"}) add(normal);
    }
    if (slot == kOpacitySlot) {
      for (int i = 0; i < 3 * (gaussians.sh_count() - 1); ++i) add(fmt::format("f_rest_{}", i));
    }
    add(kPlySlotNames[slot]);
  }
  return text + "end_header\n";
}

// Appends one vertex, with its properties in the order of header_text().
void append_vertex(const Gaussians& gaussians, std::size_t gaussian, std::vector<float>& to) {
  const int sh_count = gaussians.sh_count();
  const Vec3f* sh = gaussians.sh.data() + gaussian * static_cast<std::size_t>(sh_count);
  const Vec3f mean = gaussians.mean[gaussian];
  const Vec3f scale = gaussians.log_scale[gaussian];
  const Vec4f rotation = gaussians.rotation[gaussian];
  to.insert(to.end(), {mean.x, mean.y, mean.z, 0, 0, 0, sh[0].x, sh[0].y, sh[0].z});
  for (int channel = 0; channel < 3; ++channel) {
    for (int k = 1; k < sh_count; ++k) to.push_back(sh[k][channel]);
  }
  to.push_back(gaussians.logit_opacity[gaussian]);
  to.insert(to.end(), {scale.x, scale.y, scale.z, rotation.x, rotation.y, rotation.z, rotation.w});
}

}  // namespace

Gaussians load_ply(const std::filesystem::path& path) {
  InputFile file(path);
  const PlyHeader header = read_ply_header(file);
  const std::size_t vertex_index = find_vertex_element(header, file.name());
  const PlyElement& vertex = header.elements[vertex_index];
  const PlyColumns columns = find_ply_columns(vertex, file.name());
  for (std::size_t i = 0; i < vertex_index; ++i) skip_ply_rows(file, header.elements[i], header.format);

  // The header may declare more vertices than the file can contain. Allocating only for those that fit is
  // enough, because reading fails before it gets past them.
  const std::uint64_t fitting = file.remaining_bytes() / vertex.min_row_bytes(header.format);
  Gaussians gaussians =
      make_gaussians(static_cast<std::size_t>(std::min(vertex.count, fitting)), columns.sh_degree);
  read_ply_rows(file, vertex, header.format, columns.slot_from_property, default_ply_row(),
                [&](std::size_t i, const PlyRow& row) {
                  assert(i < gaussians.size());
                  store_ply_row(row, i, gaussians);
                });
  check_end(file, header, vertex_index);
  return gaussians;
}

void save_ply(const Gaussians& gaussians, const std::filesystem::path& path, std::string_view comment) {
  static_assert(std::endian::native == std::endian::little, "floats are written in native byte order");
  assert(sizes_agree(gaussians));
  OutputFile file(path);
  file.write(header_text(gaussians, comment));
  std::vector<float> rows;
  for (std::size_t begin = 0; begin < gaussians.size(); begin += kRowsPerWrite) {
    rows.clear();
    const std::size_t end = std::min(begin + kRowsPerWrite, gaussians.size());
    for (std::size_t gaussian = begin; gaussian < end; ++gaussian) append_vertex(gaussians, gaussian, rows);
    file.write(std::as_bytes(std::span(rows)));
  }
  file.commit();
}

}  // namespace stipple
