// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace stipple {

// zlib's CRC-32 of the bytes, continued from that of the bytes before them; 0 for none.
std::uint32_t checksum(std::uint32_t so_far, std::span<const std::byte> bytes);

}  // namespace stipple
