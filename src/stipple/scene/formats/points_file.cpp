// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/points_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "stipple/core/error.h"
#include "stipple/io/output_file.h"
#include "stipple/io/ply/ply_rows.h"

namespace stipple {

namespace {

constexpr const char* kNames[] = {"x", "y", "z", "red", "green", "blue"};
constexpr std::uint8_t kGrey = 128;

std::vector<int> find_slots(const PlyElement& vertex, const std::string& file_name) {
  std::vector<int> slots;
  for (const PlyProperty& property : vertex.properties) {
    const auto found = std::find(std::begin(kNames), std::end(kNames), property.name);
    const bool is_ours = found != std::end(kNames) && !property.length_type;
    slots.push_back(is_ours ? static_cast<int>(found - kNames) : -1);
  }
  for (int slot = 0; slot < 3; ++slot)
    if (std::find(slots.begin(), slots.end(), slot) == slots.end())
      throw Error(fmt::format("{}: property '{}' is missing; a point cloud needs x, y and z", file_name,
                              kNames[slot]));
  return slots;
}

// Colours are integers up to 255 or, in some files, floats up to 1.
float color_scale(const PlyElement& vertex) {
  for (const PlyProperty& property : vertex.properties)
    if (property.name == "red") return property.type >= PlyType::kFloat32 ? 255.0f : 1.0f;
  return 1.0f;
}

}  // namespace

Points load_points(const std::filesystem::path& path, std::size_t& dropped) {
  InputFile file(path);
  const PlyHeader header = read_ply_header(file);
  std::size_t index = 0;
  while (index < header.elements.size() && header.elements[index].name != "vertex")
    skip_ply_rows(file, header.elements[index++], header.format);
  if (index == header.elements.size())
    throw Error(fmt::format("{}: there is no element 'vertex'", file.name()));
  const PlyElement& vertex = header.elements[index];
  const std::vector<int> slots = find_slots(vertex, file.name());
  const float scale = color_scale(vertex);
  Points points;
  PlyRow row{};
  std::fill_n(row.begin() + 3, 3, static_cast<float>(kGrey) / scale);
  read_ply_rows(file, vertex, header.format, slots, row, [&](std::size_t, const PlyRow& r) {
    if (!std::isfinite(r[0]) || !std::isfinite(r[1]) || !std::isfinite(r[2])) {
      ++dropped;
      return;
    }
    const auto byte = [&](float v) {  // NaN becomes 0
      return static_cast<std::uint8_t>(v > 0 ? std::min(v * scale + 0.5f, 255.0f) : 0.0f);
    };
    points.position.push_back({r[0], r[1], r[2]});
    points.color.push_back({byte(r[3]), byte(r[4]), byte(r[5])});
  });
  return points;
}

void save_points(const Points& points, const std::filesystem::path& path) {
  static_assert(std::endian::native == std::endian::little, "floats are written in memory order");
  if (points.size() == 0) {
    std::error_code error;
    if (std::filesystem::remove(path, error); error)
      throw Error(fmt::format("cannot remove {}: {}", path.string(), error.message()));
    return;
  }
  std::string content = fmt::format(
      "ply\nformat binary_little_endian 1.0\nelement vertex {}\nproperty float x\nproperty float y\nproperty "
      "float z\nproperty uchar red\nproperty uchar green\nproperty uchar blue\nend_header\n",
      points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    char bytes[15];
    std::memcpy(bytes, &points.position[i], 12);
    std::memcpy(bytes + 12, points.color[i].data(), 3);
    content.append(bytes, sizeof(bytes));
  }
  OutputFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace stipple
