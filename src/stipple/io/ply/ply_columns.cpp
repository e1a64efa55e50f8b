// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/ply/ply_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "stipple/core/error.h"

namespace stipple {

namespace {

// 2DGS files describe flat discs and have no scale_2. A disc becomes a Gaussian that is very thin along its
// third axis: a scale of 1e-7 is too thin to be visible, yet its square does not underflow in float.
constexpr float kFlatLogScale = -16.118095651f;  // log(1e-7)
constexpr int kThirdScaleSlot = kScaleSlot + 2;

constexpr std::string_view kRestPrefix = "f_rest_";

// Returns the number in a name such as "f_rest_12".
std::optional<std::uint32_t> rest_index(std::string_view name) {
  if (!name.starts_with(kRestPrefix)) return std::nullopt;
  const char* end = name.data() + name.size();
  std::uint32_t index = 0;
  const auto [stop, error] = std::from_chars(name.data() + kRestPrefix.size(), end, index);
  if (error != std::errc() || stop != end) return std::nullopt;
  return index;
}

int find_slot(std::string_view name, int per_channel) {
  const auto found = std::find(kPlySlotNames.begin(), kPlySlotNames.end(), name);
  if (found != kPlySlotNames.end()) return static_cast<int>(found - kPlySlotNames.begin());
  const std::optional<std::uint32_t> index = rest_index(name);
  if (!index || *index >= 3u * static_cast<unsigned>(per_channel)) return -1;
  return rest_slot(static_cast<int>(*index), per_channel);
}

void require(std::string_view name, bool found, const std::string& file_name) {
  if (found) return;
  throw Error(
      fmt::format("{}: property '{}' is missing; the vertices of a 3D Gaussian splatting .ply have "
                  "x y z f_dc_* f_rest_* opacity scale_* rot_*",
                  file_name, name));
}

}  // namespace

int ply_sh_degree(int rest_count, const std::string& file_name) {
  for (int degree = 0; degree <= 3; ++degree) {
    if (rest_count == 3 * ((degree + 1) * (degree + 1) - 1)) return degree;
  }
  if (rest_count == 72) {
    throw Error(
        fmt::format("{}: spherical harmonics of degree 4 are not supported; the maximum is 3", file_name));
  }
  throw Error(
      fmt::format("{}: the number of f_rest_* properties must be 0, 9, 24 or 45 (degree 0 to 3), not {}",
                  file_name, rest_count));
}

PlyColumns find_ply_columns(const PlyElement& vertex, const std::string& file_name) {
  const auto is_rest = [](const PlyProperty& property) { return rest_index(property.name).has_value(); };
  const int rest_count =
      static_cast<int>(std::count_if(vertex.properties.begin(), vertex.properties.end(), is_rest));
  PlyColumns columns;
  columns.sh_degree = ply_sh_degree(rest_count, file_name);
  const int per_channel = rest_count / 3;

  std::array<bool, kMaxSlots> found{};
  for (const PlyProperty& property : vertex.properties) {
    const int slot = find_slot(property.name, per_channel);
    columns.slot_from_property.push_back(slot);
    if (slot < 0) continue;
    if (found[slot])
      throw Error(fmt::format("{}: property '{}' is declared twice", file_name, property.name));
    if (property.length_type) {
      throw Error(fmt::format("{}: property '{}' is a list, not a number", file_name, property.name));
    }
    found[slot] = true;
  }
  for (int slot = 0; slot < kRestSlot; ++slot) {
    require(kPlySlotNames[slot], found[slot] || slot == kThirdScaleSlot, file_name);
  }
  for (int i = 0; i < 3 * per_channel; ++i) {
    require(fmt::format("{}{}", kRestPrefix, i), found[rest_slot(i, per_channel)], file_name);
  }
  return columns;
}

PlyRow default_ply_row() {
  PlyRow row{};
  row[kThirdScaleSlot] = kFlatLogScale;
  return row;
}

void store_ply_row(const PlyRow& row, std::size_t gaussian, Gaussians& gaussians) {
  const auto vec3 = [&row](int slot) { return Vec3f(row[slot], row[slot + 1], row[slot + 2]); };
  gaussians.mean[gaussian] = vec3(kMeanSlot);
  gaussians.log_scale[gaussian] = vec3(kScaleSlot);
  gaussians.rotation[gaussian] =
      Vec4f(row[kRotationSlot], row[kRotationSlot + 1], row[kRotationSlot + 2], row[kRotationSlot + 3]);
  gaussians.logit_opacity[gaussian] = row[kOpacitySlot];
  const int sh_count = gaussians.sh_count();
  Vec3f* sh = gaussians.sh.data() + gaussian * static_cast<std::size_t>(sh_count);
  sh[0] = vec3(kBaseSlot);
  for (int k = 1; k < sh_count; ++k) sh[k] = vec3(kRestSlot + 3 * (k - 1));
}

}  // namespace stipple
