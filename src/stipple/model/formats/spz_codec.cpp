// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/spz_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "stipple/core/parallel.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/half_float.h"
#include "stipple/model/formats/quantise.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 1024;
constexpr std::uint32_t kMaxFixed = (1u << 23) - 1;  // of 24 bits with a sign
constexpr int kUsualFractionalBits = 12;
constexpr float kColorScale = 0.15f;
constexpr int kKeptDegree = 3;
constexpr float kLargestComponent = 1.41421356f / 2;

constexpr bool kSwap = std::endian::native != std::endian::little;

std::size_t rest_count(int sh_degree) {
  return static_cast<std::size_t>((sh_degree + 1) * (sh_degree + 1) - 1);
}

template <class T>
void store_number(T value, std::byte* to) {
  const auto bytes = std::bit_cast<std::array<std::byte, sizeof(T)>>(value);
  std::copy(bytes.begin(), bytes.end(), to);
  if (kSwap) std::reverse(to, to + sizeof(T));
}

bool is_finite(Vec3f v) { return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z); }

std::uint8_t to_byte(float value) { return static_cast<std::uint8_t>(clamp_round(value, 255)); }
float from_byte(std::byte byte) { return static_cast<float>(byte); }

// Means, versions 2 to 4: 24 bits, of which some are behind the binary point.
float decode_fixed(const std::byte* from, float step) {
  const auto bits = std::to_integer<std::uint32_t>(from[0]) | std::to_integer<std::uint32_t>(from[1]) << 8 |
                    std::to_integer<std::uint32_t>(from[2]) << 16;
  return static_cast<float>(static_cast<std::int32_t>(bits << 8) >> 8) * step;
}

void encode_fixed(float value, float steps, std::byte* to) {
  const std::uint32_t magnitude = clamp_round(std::abs(value) * steps, kMaxFixed);
  const std::uint32_t bits = value < 0 ? 0u - magnitude : magnitude;
  for (int i = 0; i < 3; ++i) to[i] = static_cast<std::byte>(bits >> (8 * i) & 255);
}

Vec3f decode_mean(const SpzHeader& header, const std::byte* from) {
  Vec3f mean(0, 0, 0);
  for (int axis = 0; axis < 3; ++axis)
    mean[axis] = header.version == 1
                     ? float_from_half(load_number<std::uint16_t>(from + 2 * axis, kSwap))
                     : decode_fixed(from + 3 * axis, std::ldexp(1.0f, -header.fractional_bits));
  return mean;
}

void encode_mean(const SpzHeader& header, Vec3f mean, std::byte* to) {
  for (int axis = 0; axis < 3; ++axis)
    encode_fixed(mean[axis], std::ldexp(1.0f, header.fractional_bits), to + 3 * axis);
}

// Rotations, versions 1 and 2: x, y and z of the quaternion whose w is positive.
Vec4f decode_first_three(const std::byte* from) {
  const Vec3f v(from_byte(from[0]) / 127.5f - 1, from_byte(from[1]) / 127.5f - 1,
                from_byte(from[2]) / 127.5f - 1);
  return {std::sqrt(std::max(0.0f, 1 - dot(v, v))), v.x, v.y, v.z};
}

void encode_first_three(Vec4f rotation, std::byte* to) {
  // Rounding can make x, y and z longer than 1. Normalising what is read would round again, so that is done
  // here, until the bytes stay the same; in practice once.
  std::array<std::byte, 3> before{};
  for (int repetition = 0; repetition < 4; ++repetition) {
    Vec4f q = unit_quaternion(rotation);
    if (q.x < 0) q = -q;
    const std::array<std::byte, 3> bytes = {std::byte{to_byte(q.y * 127.5f + 127.5f)},
                                            std::byte{to_byte(q.z * 127.5f + 127.5f)},
                                            std::byte{to_byte(q.w * 127.5f + 127.5f)}};
    std::copy(bytes.begin(), bytes.end(), to);
    if (bytes == before) return;
    before = bytes;
    rotation = decode_first_three(to);
  }
}

// Rotations, versions 3 and 4: the components in the order x, y, z, w without the largest.
struct SignAndMagnitude {
  std::uint32_t encode(float component) const {
    const std::uint32_t magnitude = clamp_round(std::abs(component) / kLargestComponent * 511, 511);
    return component < 0 && magnitude > 0 ? magnitude | 512 : magnitude;
  }
  float decode(std::uint32_t field) const {
    const float magnitude = from_unorm(field & 511, 511) * kLargestComponent;
    return (field & 512) != 0 ? -magnitude : magnitude;
  }
};

Vec4f decode_rotation(const SpzHeader& header, const std::byte* from) {
  if (header.version < 3) return decode_first_three(from);
  const auto q = decode_smallest_three(unpack_smallest_three(load_number<std::uint32_t>(from, kSwap)),
                                       SignAndMagnitude{});
  return {q[3], q[0], q[1], q[2]};
}

void encode_rotation(const SpzHeader& header, Vec4f rotation, std::byte* to) {
  if (header.version < 3) return encode_first_three(rotation, to);
  const Vec4f q = unit_quaternion(rotation);
  store_number(pack_smallest_three(encode_smallest_three({q.y, q.z, q.w, q.x}, SignAndMagnitude{})), to);
}

// Harmonics: multiples of 1/16 in degree 1 and of 1/8 above, so that they compress well.
float decode_harmonic(std::byte byte) { return (from_byte(byte) - 128) / 128; }

std::byte encode_harmonic(float value, std::size_t k) {
  const std::uint32_t step = k < 4 ? 8 : 16;
  if (std::isnan(value)) value = 0;
  const std::uint32_t byte = clamp_round(value * 128 + 128, 255 + step);
  return static_cast<std::byte>(std::min<std::uint32_t>((byte + step / 2) / step * step, 255));
}

void decode_one(const SpzHeader& header, SpzField field, const std::byte* from, std::size_t i, Gaussians& g) {
  const auto sh_count = static_cast<std::size_t>(g.sh_count());
  switch (field) {
    case SpzField::kMean:
      g.mean[i] = decode_mean(header, from);
      return;
    case SpzField::kOpacity:
      g.logit_opacity[i] = logit_of_byte(std::to_integer<std::uint8_t>(*from));
      return;
    case SpzField::kColor:
      for (int c = 0; c < 3; ++c) g.sh[i * sh_count][c] = (from_byte(from[c]) / 255 - 0.5f) / kColorScale;
      return;
    case SpzField::kScale:
      for (int c = 0; c < 3; ++c) g.log_scale[i][c] = from_byte(from[c]) / 16 - 10;
      return;
    case SpzField::kRotation:
      g.rotation[i] = decode_rotation(header, from);
      return;
    case SpzField::kHarmonics:
      for (std::size_t k = 1; k < sh_count; ++k)
        for (int c = 0; c < 3; ++c) g.sh[i * sh_count + k][c] = decode_harmonic(*from++);
      return;
  }
}

void encode_one(const SpzHeader& header, SpzField field, const Gaussians& g, const AxisFlip& flip,
                std::size_t i, std::byte* to) {
  const auto sh_count = static_cast<std::size_t>(g.sh_count());
  switch (field) {
    case SpzField::kMean:
      return encode_mean(header, flip.mean(g.mean[i]), to);
    case SpzField::kOpacity:
      // The format cannot say that a mean is not finite, and nothing must appear at a wrong place.
      *to = std::byte{is_finite(g.mean[i]) ? opacity_byte(g.logit_opacity[i]) : std::uint8_t{0}};
      return;
    case SpzField::kColor:
      for (int c = 0; c < 3; ++c)
        to[c] = std::byte{to_byte(g.sh[i * sh_count][c] * (kColorScale * 255) + 127.5f)};
      return;
    case SpzField::kScale:
      for (int c = 0; c < 3; ++c) to[c] = std::byte{to_byte((g.log_scale[i][c] + 10) * 16)};
      return;
    case SpzField::kRotation:
      return encode_rotation(header, flip.rotation(g.rotation[i]), to);
    case SpzField::kHarmonics:
      for (std::size_t k = 1; k < sh_count; ++k) {
        const Vec3f sh = flip.sh(k, g.sh[i * sh_count + k]);
        for (int c = 0; c < 3; ++c) *to++ = encode_harmonic(sh[c], k);
      }
      return;
  }
}

}  // namespace

std::size_t spz_bytes_per_gaussian(const SpzHeader& header, SpzField field) {
  switch (field) {
    case SpzField::kMean:
      return header.version == 1 ? 6 : 9;
    case SpzField::kOpacity:
      return 1;
    case SpzField::kColor:
    case SpzField::kScale:
      return 3;
    case SpzField::kRotation:
      return header.version < 3 ? 3 : 4;
    default:
      return 3 * rest_count(header.sh_degree);
  }
}

std::uint64_t spz_bytes_per_gaussian(const SpzHeader& header) {
  std::uint64_t sum = 0;
  for (const SpzField field : kSpzFields) sum += spz_bytes_per_gaussian(header, field);
  return sum;
}

void decode_spz(const SpzHeader& header, SpzField field, std::span<const std::byte> bytes, std::size_t begin,
                Gaussians& gaussians) {
  const std::size_t each = spz_bytes_per_gaussian(header, field);
  parallel_for(
      bytes.size() / each,
      [&](std::size_t i) { decode_one(header, field, bytes.data() + i * each, begin + i, gaussians); },
      kGrain);
}

void encode_spz(const SpzHeader& header, SpzField field, const Gaussians& gaussians, const AxisFlip& flip,
                std::size_t begin, std::span<std::byte> bytes) {
  const std::size_t each = spz_bytes_per_gaussian(header, field);
  parallel_for(
      bytes.size() / each,
      [&](std::size_t i) { encode_one(header, field, gaussians, flip, begin + i, bytes.data() + i * each); },
      kGrain);
}

int spz_fractional_bits(const Gaussians& gaussians) {
  std::array<std::size_t, kUsualFractionalBits + 1> outside{};  // by the number of bits
  for (const Vec3f& mean : gaussians.mean) {
    const float largest = std::max({std::abs(mean.x), std::abs(mean.y), std::abs(mean.z)});
    if (!std::isfinite(largest)) continue;
    for (int bits = kUsualFractionalBits; bits > 0; --bits) {
      if (clamp_round(std::ldexp(largest, bits), kMaxFixed + 1) <= kMaxFixed) break;
      ++outside[static_cast<std::size_t>(bits)];
    }
  }
  int bits = kUsualFractionalBits;
  while (bits > 0 && outside[static_cast<std::size_t>(bits)] > gaussians.size() / 1000) --bits;
  return bits;
}

}  // namespace stipple
