// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace stipple {

// zlib's CRC-32 of the bytes, continued from that of the bytes before them; 0 for none.
std::uint32_t checksum(std::uint32_t so_far, std::span<const std::byte> bytes);

// That of two parts one after another, from the checksum of each.
std::uint32_t joined_checksum(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes);

}  // namespace stipple
