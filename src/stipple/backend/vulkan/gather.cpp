// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

void VulkanBackend::copy_rows(const Memory& from, const RowPart& from_part,
                              const DeviceArray<std::uint32_t>* rows, Memory& to, const RowPart& to_part,
                              std::size_t count, std::size_t halves) {
  assert(&from != &to && to_part.first_row % 64 == 0);
  if (count == 0 || halves == 0) return;
  const VulkanMemory& source = *memory_of(&from);
  const std::size_t to_row_bytes = to_part.row_halves * sizeof(std::uint16_t);
  const bool is_even =
      (from_part.row_halves | from_part.first_half | to_part.row_halves | to_part.first_half | halves) % 2 ==
      0;
  for_each_window(count, to_row_bytes, [&](std::size_t first, std::size_t n) {
    const std::size_t from_row = from_part.first_row + (rows ? 0 : first);
    const struct {
      std::uint32_t row_count, halves, from_first, from_row_halves, to_first, to_row_halves, has_rows;
    } parameters{static_cast<std::uint32_t>(n),
                 static_cast<std::uint32_t>(halves),
                 static_cast<std::uint32_t>(from_row * from_part.row_halves + from_part.first_half),
                 static_cast<std::uint32_t>(from_part.row_halves),
                 static_cast<std::uint32_t>(to_part.first_half),
                 static_cast<std::uint32_t>(to_part.row_halves),
                 rows != nullptr};
    KernelRun kernel = run("gather");
    kernel.constants({is_even});
    rows ? kernel.window(*rows, first, n) : kernel.bind(Binding{});
    kernel.window(*memory_of(&to), (to_part.first_row + first) * to_row_bytes, n * to_row_bytes)
        .split(&source, source.bytes())
        .run(parameters, groups_for((n * (is_even ? halves : to_part.row_halves) + 1) / 2, 256));
  });
}

}  // namespace stipple::vulkan
