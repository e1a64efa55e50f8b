// SPDX-License-Identifier: Apache-2.0
#include <cassert>
#include <cstring>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

namespace stipple::cpu {

void CpuBackend::copy_rows(const Memory& from, const RowPart& from_part,
                           const DeviceArray<std::uint32_t>* rows, Memory& to, const RowPart& to_part,
                           std::size_t count, std::size_t halves) {
  assert(&from != &to);
  constexpr std::size_t kHalfBytes = sizeof(std::uint16_t);
  const auto at = [](std::byte* data, const RowPart& part, std::size_t row) {
    return data + ((part.first_row + row) * part.row_halves + part.first_half) * kHalfBytes;
  };
  std::byte* source = static_cast<const HostMemory&>(from).data();
  std::byte* target = static_cast<HostMemory&>(to).data();
  const std::span<const std::uint32_t> row = rows ? host(*rows) : std::span<const std::uint32_t>();
  parallel_for(
      count,
      [&](std::size_t i) {
        std::byte* out = at(target, to_part, i);
        const std::size_t which = rows ? row[i] : i;
        if (rows && which == kNoRow)
          std::memset(out, 0, halves * kHalfBytes);
        else
          std::memcpy(out, at(source, from_part, which), halves * kHalfBytes);
      },
      1024);
}

}  // namespace stipple::cpu
