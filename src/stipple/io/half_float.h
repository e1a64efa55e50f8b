// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <bit>
#include <cstdint>

namespace stipple {

// The float with the value of an IEEE half (binary16), which is always exact.
inline float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000u) << 16;
  const std::uint32_t magnitude = static_cast<std::uint32_t>(half & 0x7fffu) << 13;
  if (magnitude >= 0x0f800000u)  // infinite or NaN
    return std::bit_cast<float>(sign | 0x7f800000u | magnitude);
  // The exponents of the two types have a different bias, which a factor corrects for denormals, too.
  return std::bit_cast<float>(sign |
                              std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f));
}

}  // namespace stipple
