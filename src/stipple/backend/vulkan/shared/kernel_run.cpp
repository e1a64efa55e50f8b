// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/shared/kernel_run.h"

#include <fmt/format.h>

#include <bit>

namespace stipple::vulkan {

namespace {

constexpr std::size_t kPieces = 4;

[[noreturn]] void fail_too_large(std::size_t bytes, std::size_t limit) {
  constexpr double kMiB = 1 << 20;
  throw OutOfMemory(fmt::format(
      "an array of {:.0f} MiB exceeds the {:.0f} MiB that this GPU's driver lets a kernel use; train with "
      "fewer Gaussians, or at a lower resolution",
      static_cast<double>(bytes) / kMiB, static_cast<double>(limit) / kMiB));
}

}  // namespace

KernelRun& KernelRun::bind_whole(const VulkanMemory& memory, std::size_t bytes) {
  const auto limit = static_cast<std::size_t>(context_.abilities().max_binding_bytes);
  if (bytes > limit) fail_too_large(bytes, limit);
  return bind(Binding{&memory, 0, std::min(memory.bytes(), limit)});
}

KernelRun& KernelRun::split(const VulkanMemory* memory, std::size_t bytes) {
  const auto piece = static_cast<std::size_t>(context_.abilities().split_bytes);
  if (!memory || bytes <= piece) {
    bind(memory ? Binding{memory, 0, std::min(memory->bytes(), piece)} : Binding{});
    for (std::size_t i = 1; i < kPieces; ++i) bind(Binding{});
    return *this;
  }
  if (bytes > kPieces * piece) fail_too_large(bytes, kPieces * piece);
  is_split_ = true;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::size_t begin = i * piece;
    bind(begin < bytes ? Binding{memory, begin, std::min(piece, memory->bytes() - begin)} : Binding{});
  }
  return *this;
}

std::vector<std::uint32_t> KernelRun::finished_constants() const {
  const Abilities& a = context_.abilities();
  const std::uint32_t piece_log2 =
      is_split_ ? static_cast<std::uint32_t>(std::bit_width(a.split_bytes / sizeof(std::uint32_t)) - 1) : 0;
  std::vector<std::uint32_t> all{a.subgroup_size, piece_log2};
  all.insert(all.end(), constants_.begin(), constants_.end());
  return all;
}

}  // namespace stipple::vulkan
