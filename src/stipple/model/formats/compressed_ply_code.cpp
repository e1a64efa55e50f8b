// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/compressed_ply_code.h"

#include <utility>

namespace stipple::compressed_ply {

namespace {

constexpr float kMaxLogScale = 20;
constexpr UnormComponent kRotationComponent{1023};

Vec3f clamped_log_scale(Vec3f v) {
  const auto limited = [](float x) { return std::clamp(x, -kMaxLogScale, kMaxLogScale); };
  return {limited(v.x), limited(v.y), limited(v.z)};
}

Vec3f base_color(const Gaussians& gaussians, std::size_t i) {
  const Vec3f base = gaussians.sh[i * static_cast<std::size_t>(gaussians.sh_count())];
  return {color_from_base(base.x), color_from_base(base.y), color_from_base(base.z)};
}

// Doubles, so that differences of large coordinates are accurate and none of any floats overflows.
std::uint32_t to_field(float value, float low, float high, std::uint32_t max) {
  const double size = static_cast<double>(high) - low;
  return size > 0 ? to_unorm(static_cast<float>((static_cast<double>(value) - low) / size), max) : 0;
}

float from_field(std::uint32_t field, float low, float high, std::uint32_t max) {
  const double t = static_cast<double>(field) / max;
  return static_cast<float>(low * (1 - t) + high * t);  // exactly low or high at the ends
}

// Three numbers in 32 bits: 11, 10 and 11 of them.
std::uint32_t pack_vec3(Vec3f v, const Bounds& bounds) {
  return to_field(v.x, bounds.low.x, bounds.high.x, 2047) << 21 |
         to_field(v.y, bounds.low.y, bounds.high.y, 1023) << 11 |
         to_field(v.z, bounds.low.z, bounds.high.z, 2047);
}

Vec3f unpack_vec3(std::uint32_t bits, const Bounds& bounds) {
  return {from_field(bits >> 21, bounds.low.x, bounds.high.x, 2047),
          from_field(bits >> 11 & 1023, bounds.low.y, bounds.high.y, 1023),
          from_field(bits & 2047, bounds.low.z, bounds.high.z, 2047)};
}

template <class Value>
Bounds bounds_of_values(std::span<const std::uint32_t> members, const Value& value) {
  Bounds bounds;
  std::array<bool, 3> found{};
  for (const std::uint32_t i : members) {
    const Vec3f v = value(i);
    for (int axis = 0; axis < 3; ++axis) {
      if (!std::isfinite(v[axis])) continue;
      const bool first = !std::exchange(found[static_cast<std::size_t>(axis)], true);
      bounds.low[axis] = first ? v[axis] : std::min(bounds.low[axis], v[axis]);
      bounds.high[axis] = first ? v[axis] : std::max(bounds.high[axis], v[axis]);
    }
  }
  return bounds;
}

bool is_finite(Vec3f v) { return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z); }

}  // namespace

Bounds position_bounds(const Gaussians& gaussians, std::span<const std::uint32_t> members) {
  return bounds_of_values(members, [&](std::uint32_t i) { return gaussians.mean[i]; });
}

Chunk bounds_of(const Gaussians& gaussians, std::span<const std::uint32_t> members) {
  const auto log_scale = [&](std::uint32_t i) { return clamped_log_scale(gaussians.log_scale[i]); };
  const auto color = [&](std::uint32_t i) { return base_color(gaussians, i); };
  return {position_bounds(gaussians, members), bounds_of_values(members, log_scale),
          bounds_of_values(members, color)};
}

std::uint32_t pack_position(Vec3f position, const Bounds& bounds) { return pack_vec3(position, bounds); }

Vec3f unpack_position(std::uint32_t bits, const Bounds& bounds) { return unpack_vec3(bits, bounds); }

Packed pack(const Gaussians& gaussians, std::size_t i, const Chunk& chunk) {
  const Vec4f q = unit_quaternion(gaussians.rotation[i]);
  const Vec3f color = base_color(gaussians, i);
  const auto channel = [&](int c) {
    return to_field(color[c], chunk.color.low[c], chunk.color.high[c], 255);
  };
  // The format cannot say that a position is not finite, and nothing must appear at a wrong one.
  const std::uint32_t opacity = is_finite(gaussians.mean[i]) ? opacity_byte(gaussians.logit_opacity[i]) : 0;
  return {pack_position(gaussians.mean[i], chunk.position),
          pack_smallest_three(encode_smallest_three({q.x, q.y, q.z, q.w}, kRotationComponent)),
          pack_vec3(clamped_log_scale(gaussians.log_scale[i]), chunk.log_scale),
          channel(0) << 24 | channel(1) << 16 | channel(2) << 8 | opacity};
}

void unpack(const Packed& packed, const Chunk& chunk, std::size_t i, Gaussians& gaussians) {
  gaussians.mean[i] = unpack_position(packed.position, chunk.position);
  gaussians.log_scale[i] = unpack_vec3(packed.scale, chunk.log_scale);
  const auto q = decode_smallest_three(unpack_smallest_three(packed.rotation), kRotationComponent);
  gaussians.rotation[i] = {q[0], q[1], q[2], q[3]};
  Vec3f& base = gaussians.sh[i * static_cast<std::size_t>(gaussians.sh_count())];
  for (int c = 0; c < 3; ++c) {
    const std::uint32_t field = packed.color >> (24 - 8 * c) & 255;
    base[c] = base_from_color(from_field(field, chunk.color.low[c], chunk.color.high[c], 255));
  }
  gaussians.logit_opacity[i] = logit_of_byte(static_cast<std::uint8_t>(packed.color & 255));
}

}  // namespace stipple::compressed_ply
