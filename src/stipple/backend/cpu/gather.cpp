// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

namespace stipple::cpu {

void CpuBackend::gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
                        Memory& to) {
  const std::byte* source = static_cast<const HostMemory&>(from).data();
  std::byte* target = static_cast<HostMemory&>(to).data();
  auto row = host(rows);
  parallel_for(
      row.size(),
      [&](std::size_t i) {
        if (row[i] == kNoRow)
          std::memset(target + i * row_bytes, 0, row_bytes);
        else
          std::memcpy(target + i * row_bytes, source + row[i] * row_bytes, row_bytes);
      },
      1024);
}

}  // namespace stipple::cpu
