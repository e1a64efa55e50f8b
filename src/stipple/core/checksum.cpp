// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/checksum.h"

#include <zlib.h>

namespace stipple {

std::uint32_t checksum(std::uint32_t so_far, std::span<const std::byte> bytes) {
  if (bytes.empty()) return so_far;  // zlib starts afresh if the pointer is null
  return static_cast<std::uint32_t>(
      crc32_z(so_far, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t joined_checksum(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  return static_cast<std::uint32_t>(crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

}  // namespace stipple
