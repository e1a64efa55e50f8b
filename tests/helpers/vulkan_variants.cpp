// SPDX-License-Identifier: Apache-2.0
#include "tests/helpers/vulkan_variants.h"

#include <map>

#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple {

namespace {

struct Variant {
  vulkan::Overrides overrides{};
  bool deterministic = false;
};

const std::map<std::string, Variant>& variants() {
  static const std::map<std::string, Variant> all = {
      {"vulkan", {}},
      {"vulkan_deterministic", {{}, true}},
      {"vulkan_no_subgroups", {{.no_subgroups = true}}},
      {"vulkan_no_float_atomics", {{.no_float_atomics = true}}},
      // Small enough that the larger scenes of the suite need several pieces, and large enough for four to
      // do.
      {"vulkan_split", {{.split_bytes = std::size_t{1} << 19}}},
  };
  return all;
}

}  // namespace

std::vector<std::string> vulkan_variant_names() {
  std::vector<std::string> names;
  for (const auto& [name, variant] : variants())
    if (name != "vulkan") names.push_back(name);
  return names;
}

std::unique_ptr<Backend> make_vulkan_variant(const std::string& name) {
  static std::map<std::string, std::unique_ptr<vulkan::VulkanBackend>> first;
  const Variant& variant = variants().at(name);
  std::unique_ptr<vulkan::VulkanBackend>& shared = first[name];
  if (!shared) shared = std::make_unique<vulkan::VulkanBackend>(BackendOptions{}, variant.overrides);
  return std::make_unique<vulkan::VulkanBackend>(*shared, variant.deterministic);
}

}  // namespace stipple
