// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/vulkan_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "stipple/backend/find_device.h"
#include "stipple/backend/render_settings.h"
#include "stipple/backend/vulkan/make_vulkan_backend.h"

namespace stipple::vulkan {

namespace {

constexpr double kGiB = 1 << 30;
constexpr double kUsableShare = 0.9;  // of the memory; other programs need some

const Adapter& find_adapter(const std::string& wanted) {
  const std::vector<Adapter>& all = Instance::get().adapters();
  std::vector<std::string> names;
  for (const Adapter& adapter : all) names.push_back(adapter.name);
  const Adapter& adapter = all[find_device("vulkan", names, wanted)];
  if (!adapter.why_unusable.empty())
    throw Error(fmt::format("{} cannot be used: {}", adapter.name, adapter.why_unusable));
  return adapter;
}

Abilities reduced(Abilities a, const Overrides& o) {
  if (o.no_subgroups) a.subgroup_size = 1;
  if (o.no_float_atomics) a.float_atomics = false;
  if (o.split_bytes > 0) a.split_bytes = std::min<VkDeviceSize>(a.split_bytes, std::bit_floor(o.split_bytes));
  return a;
}

// The memory that is free, as far as the driver tells.
std::size_t free_bytes(const Adapter& adapter) {
  if (!adapter.abilities.has_memory_budget) return adapter.abilities.heap_bytes;
  VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
  VkPhysicalDeviceMemoryProperties2 memory{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2, &budget, {}};
  vkGetPhysicalDeviceMemoryProperties2(adapter.handle, &memory);
  VkDeviceSize most = 0;
  for (std::uint32_t i = 0; i < memory.memoryProperties.memoryHeapCount; ++i)
    if (memory.memoryProperties.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      most = std::max(most, budget.heapBudget[i] - std::min(budget.heapBudget[i], budget.heapUsage[i]));
  return most;
}

std::size_t usable_bytes(const Adapter& adapter, std::size_t max_bytes) {
  const std::size_t free = free_bytes(adapter);
  if (max_bytes > free)
    throw Error(
        fmt::format("the GPU has {:.1f} GiB free, less than the limit of {:.1f} GiB; set a lower limit",
                    static_cast<double>(free) / kGiB, static_cast<double>(max_bytes) / kGiB));
  return max_bytes > 0 ? max_bytes : static_cast<std::size_t>(kUsableShare * static_cast<double>(free));
}

const VulkanMemory& vulkan(const Memory& memory) { return static_cast<const VulkanMemory&>(memory); }

}  // namespace

VulkanBackend::VulkanBackend(const BackendOptions& options, const Overrides& overrides)
    : deterministic_(options.deterministic) {
  const Adapter& adapter = find_adapter(options.device);
  context_ = std::make_shared<Context>(adapter, reduced(adapter.abilities, overrides),
                                       usable_bytes(adapter, options.max_bytes));
  description_ = adapter.description();
  // Lets a test of the command lose the device in the middle of a run.
  if (const char* submits = std::getenv("STIPPLE_VULKAN_LOSE_AFTER"))
    context_->lose_after(std::atoi(submits));
}

VulkanBackend::VulkanBackend(const VulkanBackend& other, bool deterministic)
    : context_(other.context_), description_(other.description_), deterministic_(deterministic) {}

std::unique_ptr<Memory> VulkanBackend::allocate(std::size_t bytes) {
  return std::make_unique<VulkanMemory>(context_, bytes);
}

std::unique_ptr<Memory> VulkanBackend::allocate_on_host(std::size_t bytes) {
  return std::make_unique<VulkanMemory>(context_, bytes, Place::kHost);
}

void VulkanBackend::upload(std::span<const std::byte> from, Memory& to) {
  if (!from.empty()) Commands(*context_).upload(from, vulkan(to));
}

void VulkanBackend::download(const Memory& from, std::span<std::byte> to) const {
  if (!to.empty()) Commands(*context_).download(vulkan(from), 0, to);
}

void VulkanBackend::fill_zero(Memory& memory, std::size_t bytes) {
  if (bytes > 0) Commands(*context_).fill_zero(vulkan(memory), 0, bytes);
}

void VulkanBackend::copy(const Memory& from, Memory& to, std::size_t bytes) {
  if (bytes > 0) Commands(*context_).copy(vulkan(from), vulkan(to), bytes);
}

std::string VulkanBackend::with_subgroups(const std::string& shader, std::uint32_t least_size) const {
  const std::uint32_t size = context_->abilities().subgroup_size;
  return size > 1 && size >= least_size ? shader + "_subgroups" : shader;
}

Binding VulkanBackend::status_of(const VulkanPass& pass) const {
  return {memory_of(pass.status.memory()), pass.view_index() * sizeof(ViewStatus), sizeof(ViewStatus)};
}

ViewParameters::ViewParameters(const View& view) : camera(pinhole(view.camera)), dropout(dropout_of(view)) {
  const Math<float>::RenderSettings s = render_settings(view.options);
  near_plane = s.near_plane;
  blur_px2 = s.blur_px2;
  scale_modifier = s.scale_modifier;
  alpha_max = s.alpha_max;
  antialiased = s.antialiased;
  inverse_depth = s.inverse_depth;
  column_count = tile_columns_of(view.camera);
  row_begin = tile_rows_of(view).begin;
  row_end = tile_rows_of(view).end;
}

std::vector<std::uint32_t> form_constants(const DeviceGaussians& g, const Precomputed& given,
                                          const View& view) {
  const bool has_filter = !given.filter_variance.empty();
  return {static_cast<std::uint32_t>(g.sh_degree),
          !given.color.empty(),
          !given.covariance.empty(),
          given.is_activated,
          has_filter || dropout_of(view).threshold > 0,
          has_filter};
}

std::unique_ptr<Backend> make_vulkan_backend(const BackendOptions& options) {
  return std::make_unique<VulkanBackend>(options);
}

std::string why_vulkan_is_unusable() try {
  const std::vector<Adapter>& all = Instance::get().adapters();
  if (all.empty()) return "no Vulkan driver has found a device";
  return all[0].why_unusable.empty() ? "" : fmt::format("{}: {}", all[0].name, all[0].why_unusable);
} catch (const Error& error) {
  return error.what();
}

std::vector<DeviceInfo> list_vulkan_devices() try {
  std::vector<DeviceInfo> all;
  for (const Adapter& adapter : Instance::get().adapters())
    all.push_back({.name = adapter.name,
                   .description = adapter.description(),
                   .problem = adapter.why_unusable,
                   .is_software = adapter.is_software,
                   .id = adapter.id});
  return all;
} catch (const Error&) {  // why_vulkan_is_unusable() tells the reason
  return {};
}

}  // namespace stipple::vulkan
