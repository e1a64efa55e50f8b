// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stipple::http {

// FIPS 180-4.
std::array<std::uint8_t, 32> sha256(std::span<const std::byte> bytes);

}  // namespace stipple::http
