// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/splat.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"
#include "stipple/model/formats/quantise.h"
#include "stipple/model/formats/row_io.h"

namespace stipple {

namespace {

// A row: float position[3], float scale[3], then bytes: red, green, blue, opacity, rotation w, x, y, z.
constexpr std::size_t kRowBytes = 32;
constexpr std::size_t kScaleAt = 12;
constexpr std::size_t kColorAt = 24;
constexpr std::size_t kOpacityAt = 27;
constexpr std::size_t kRotationAt = 28;

Vec3f load_vec3(const std::byte* from) {
  return {load_little<float>(from), load_little<float>(from + 4), load_little<float>(from + 8)};
}

void store_vec3(Vec3f v, std::byte* to) {
  for (int axis = 0; axis < 3; ++axis) store_little(v[axis], to + 4 * axis);
}

Vec3f scale_of(Vec3f log_scale) {
  return {scale_from_log(log_scale.x), scale_from_log(log_scale.y), scale_from_log(log_scale.z)};
}

// Not normalised, so that store_rotation() recognises what these bytes say.
Vec4f load_rotation(const std::byte* from) {
  const auto component = [&](int i) { return static_cast<float>(std::to_integer<int>(from[i]) - 128) / 128; };
  const Vec4f q(component(0), component(1), component(2), component(3));
  return q == Vec4f(0, 0, 0, 0) ? Vec4f(1, 0, 0, 0) : q;
}

// Whether the bytes can hold the quaternion exactly. Its length then is not quite 1, and to normalise it
// would change the bytes of a file that is loaded and saved.
bool is_rotation_of_bytes(Vec4f q) {
  const Vec4f scaled = q * 128.0f;
  const auto fits = [](float x) { return x >= -128 && x <= 127 && x == std::floor(x); };
  return fits(scaled.x) && fits(scaled.y) && fits(scaled.z) && fits(scaled.w) &&
         std::abs(std::sqrt(dot(scaled, scaled)) - 128) <= 2;
}

void store_rotation(Vec4f q, std::byte* to) {
  if (!is_rotation_of_bytes(q)) q = unit_quaternion(q);
  int i = 0;
  for (const float component : {q.x, q.y, q.z, q.w})
    to[i++] = static_cast<std::byte>(clamp_round(component * 128 + 128, 255));
}

void read_row(const std::byte* row, std::size_t i, Gaussians& gaussians) {
  gaussians.mean[i] = load_vec3(row);
  const Vec3f scale = load_vec3(row + kScaleAt);
  gaussians.log_scale[i] = {log_from_scale(scale.x), log_from_scale(scale.y), log_from_scale(scale.z)};
  for (int channel = 0; channel < 3; ++channel) {
    const auto color = std::to_integer<std::uint32_t>(row[kColorAt + static_cast<std::size_t>(channel)]);
    gaussians.sh[i][channel] = base_from_color(from_unorm(color, 255));
  }
  gaussians.logit_opacity[i] = logit_of_byte(std::to_integer<std::uint8_t>(row[kOpacityAt]));
  gaussians.rotation[i] = load_rotation(row + kRotationAt);
}

void write_row(const Gaussians& gaussians, std::size_t i, std::byte* row) {
  store_vec3(gaussians.mean[i], row);
  store_vec3(scale_of(gaussians.log_scale[i]), row + kScaleAt);
  const Vec3f base = gaussians.sh[i * static_cast<std::size_t>(gaussians.sh_count())];
  for (int channel = 0; channel < 3; ++channel)
    row[kColorAt + static_cast<std::size_t>(channel)] =
        static_cast<std::byte>(to_unorm(color_from_base(base[channel]), 255));
  row[kOpacityAt] = static_cast<std::byte>(opacity_byte(gaussians.logit_opacity[i]));
  store_rotation(gaussians.rotation[i], row + kRotationAt);
}

// Sorts by what the file will hold, so that a model that was loaded from it keeps its order.
std::vector<std::uint32_t> largest_first(const Gaussians& gaussians) {
  std::vector<std::uint64_t> keys(gaussians.size());
  parallel_for(
      keys.size(),
      [&](std::size_t i) {
        const Vec3f scale = scale_of(gaussians.log_scale[i]);
        const double size = static_cast<double>(scale.x) * scale.y * scale.z *
                            static_cast<double>(opacity_byte(gaussians.logit_opacity[i]));
        // Positive doubles have the order of their bits; 20 bits of the mantissa are enough. Ties keep
        // theirs.
        keys[i] = ~(std::bit_cast<std::uint64_t>(size) >> 32) << 32 | i;
      },
      kRowsPerTask);
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> order(keys.size());
  std::transform(keys.begin(), keys.end(), order.begin(),
                 [](std::uint64_t key) { return static_cast<std::uint32_t>(key); });
  return order;
}

}  // namespace

Gaussians load_splat(const std::filesystem::path& path, ModelFacts& facts) {
  facts.format = ".splat";
  InputFile file(path);
  if (file.remaining_bytes() % kRowBytes != 0)
    throw Error(
        fmt::format("{}: the size of a .splat file is a multiple of {} bytes, but this one has {}; "
                    "it is truncated or has another format",
                    file.name(), kRowBytes, file.remaining_bytes()));
  Gaussians gaussians = make_gaussians(static_cast<std::size_t>(file.remaining_bytes() / kRowBytes), 0);
  read_rows(file, gaussians.size(), kRowBytes,
            [&](std::size_t i, const std::byte* row) { read_row(row, i, gaussians); });
  return gaussians;
}

void save_splat(const Gaussians& gaussians, const std::filesystem::path& path, const SaveModelOptions&) {
  OutputFile file(path);
  const std::vector<std::uint32_t> order = largest_first(gaussians);
  write_rows(file, order.size(), kRowBytes,
             [&](std::size_t i, std::byte* row) { write_row(gaussians, order[i], row); });
  file.commit();
}

}  // namespace stipple
