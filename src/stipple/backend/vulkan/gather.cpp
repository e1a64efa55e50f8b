// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

void VulkanBackend::gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
                           Memory& to) {
  assert(row_bytes % sizeof(std::uint32_t) == 0);
  if (rows.empty() || row_bytes == 0) return;
  const std::size_t row_words = row_bytes / sizeof(std::uint32_t);
  const VulkanMemory& source = *memory_of(&from);
  for_each_window(rows.size(), row_bytes, [&](std::size_t first, std::size_t n) {
    const struct {
      std::uint32_t row_count, row_words;
    } parameters{static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(row_words)};
    run("gather")
        .window(rows, first, n)
        .bind(Binding{memory_of(&to), first * row_bytes, n * row_bytes})
        .split(&source, source.bytes())
        .run(parameters, groups_for(n * row_words, 256));
  });
}

}  // namespace stipple::vulkan
