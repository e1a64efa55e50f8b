// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers as the few bits in which compact model formats store them. Every function takes any float: what is
// too large becomes the largest number that fits, and NaN becomes 0. Decoding and encoding again gives the
// same bits, so that a model that is loaded and saved repeatedly does not drift.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "stipple/math/math.h"

namespace stipple {

// The whole number in [0, max] nearest to the value; `max` is at most 2^24.
inline std::uint32_t clamp_round(float value, std::uint32_t max) {
  if (!(value > 0)) return 0;  // also NaN
  if (value >= static_cast<float>(max)) return max;
  const auto below = static_cast<std::uint32_t>(value);
  return value - static_cast<float>(below) < 0.5f ? below : below + 1;
}

// A fraction in [0, 1] as a whole number in [0, max].
inline std::uint32_t to_unorm(float fraction, std::uint32_t max) {
  return clamp_round(fraction * static_cast<float>(max), max);
}
inline float from_unorm(std::uint32_t field, std::uint32_t max) {
  return static_cast<float>(field) / static_cast<float>(max);
}

// Opacity as a byte. The logits of 0 and 1 are infinite, so the bytes 0 and 255 stand for what is a quarter
// of a step away: it is closest to all that is rounded to them.
inline std::uint8_t opacity_byte(float logit_opacity) {
  return static_cast<std::uint8_t>(to_unorm(Math<float>::sigmoid(logit_opacity), 255));
}
inline float logit_of_byte(std::uint8_t opacity) {
  return Math<float>::logit(std::clamp(static_cast<float>(opacity), 0.25f, 254.75f) / 255);
}

// The base colour in [0, 1] that the coefficient of degree 0 of a channel gives, and the reverse. Both are
// rounded only once, so that repeated conversion changes nothing after the first.
inline float color_from_base(float sh) { return static_cast<float>(0.5 + Math<double>::sh_0 * sh); }
inline float base_from_color(float color) { return static_cast<float>((color - 0.5) / Math<double>::sh_0); }

// The scale of a Gaussian along one axis, always positive and finite, and the reverse, which takes any float:
// a renderer squares the scale, so the sign does not matter. Again rounded only once.
inline float scale_from_log(float log_scale) {
  constexpr float kMin = -87.3f, kMax = 88.7f;  // exp() of which is a normal float
  return static_cast<float>(
      std::exp(static_cast<double>(log_scale > kMin ? std::min(log_scale, kMax) : kMin)));
}
inline float log_from_scale(float scale) {
  using Limits = std::numeric_limits<float>;
  return static_cast<float>(
      std::log(static_cast<double>(std::clamp(std::abs(scale), Limits::min(), Limits::max()))));
}

// The quaternion (w, x, y, z) with length 1, to within 1e-6: one that has this length is returned unchanged.
// One without a direction (zero, infinite or NaN) becomes the identity.
inline Vec4f unit_quaternion(Vec4f q) {
  const Vec4<double> wide(q.x, q.y, q.z, q.w);  // neither overflows nor underflows when squared
  const double length = std::sqrt(dot(wide, wide));
  if (std::abs(length - 1) < 1e-6) return q;
  if (!(length > 0) || std::isinf(length)) return {1, 0, 0, 0};
  const Vec4<double> unit = wide * (1 / length);
  return {static_cast<float>(unit.x), static_cast<float>(unit.y), static_cast<float>(unit.z),
          static_cast<float>(unit.w)};
}

// A unit quaternion without its largest component, which follows from the others and is made positive, since
// q and -q are the same rotation. `fields` are the others by ascending index, each in [-sqrt(1/2),
// sqrt(1/2)]. The order of the components (w, x, y, z or x, y, z, w) is that of the format.
struct SmallestThree {
  std::uint32_t largest = 0;  // 0 to 3
  std::array<std::uint32_t, 3> fields{};
};

// The usual way to store a component: sqrt(1/2) times -1 to 1 as 0 to `max`.
struct UnormComponent {
  std::uint32_t max;

  std::uint32_t encode(float component) const {
    return to_unorm(component * (0.5f * 1.41421356f) + 0.5f, max);
  }
  float decode(std::uint32_t field) const { return (from_unorm(field, max) - 0.5f) * 1.41421356f; }
};

template <class Component>
std::array<float, 4> decode_smallest_three(const SmallestThree& code, const Component& component) {
  std::array<float, 4> q{};
  float rest = 1;
  for (std::uint32_t i = 0, field = 0; i < 4; ++i) {
    if (i == code.largest) continue;
    q[i] = component.decode(code.fields[field++]);
    rest -= q[i] * q[i];
  }
  q[code.largest] = std::sqrt(std::max(0.0f, rest));
  return q;
}

// What decode_smallest_three() computes from the code has the same code: see below.
template <class Component>
SmallestThree encode_smallest_three(std::array<float, 4> q, const Component& component) {
  // Rounding can make another component the largest, and the code of that would round again. Components with
  // the same code count as equally large, so that this ends, in practice after one repetition.
  SmallestThree code;
  for (int repetition = 0; repetition < 4; ++repetition) {
    std::uint32_t largest = 0;
    for (std::uint32_t i = 1; i < 4; ++i) {
      if (component.encode(std::abs(q[i])) > component.encode(std::abs(q[largest]))) largest = i;
    }
    if (repetition > 0 && largest == code.largest) break;
    code.largest = largest;
    const float sign = q[largest] < 0 ? -1.0f : 1.0f;
    for (std::uint32_t i = 0, field = 0; i < 4; ++i)
      if (i != largest) code.fields[field++] = component.encode(sign * q[i]);
    q = decode_smallest_three(code, component);
  }
  return code;
}

// The same in 32 bits, of which each field has 10 (compressed .ply, .spz): the index in the highest 2 bits,
// the first field below it, the last one in the lowest bits.
inline std::uint32_t pack_smallest_three(const SmallestThree& code) {
  return code.largest << 30 | code.fields[0] << 20 | code.fields[1] << 10 | code.fields[2];
}
inline SmallestThree unpack_smallest_three(std::uint32_t bits) {
  return {bits >> 30, {bits >> 20 & 1023, bits >> 10 & 1023, bits & 1023}};
}

}  // namespace stipple
