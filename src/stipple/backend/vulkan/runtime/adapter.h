// SPDX-License-Identifier: Apache-2.0
#pragma once
// The Vulkan adapters of this machine, and what each of them can do.
#include <string>
#include <vector>

#include "stipple/backend/vulkan/runtime/api.h"

namespace stipple::vulkan {

// What the kernels need to know of a device. Tests may reduce some of it (Overrides).
struct Abilities {
  std::uint32_t subgroup_size = 1;  // 1 if the kernels must do without subgroup operations
  bool pins_subgroup_size = false;  // VK_EXT_subgroup_size_control
  bool float_atomics = false;       // VK_EXT_shader_atomic_float
  VkDeviceSize max_binding_bytes = 0;
  VkDeviceSize split_bytes = 0;  // larger arrays are split over several bindings or runs; a power of two
  VkDeviceSize binding_alignment = 256;
  VkDeviceSize max_allocation_bytes = 0;
  VkDeviceSize heap_bytes = 0;         // of the largest heap on the device
  bool has_memory_budget = false;      // VK_EXT_memory_budget
  bool has_other_memory = false;       // the host's memory is not the device's, or stands for it
  bool is_portability_subset = false;  // the driver translates to another API, such as Metal
  double timestamp_ns = 0;             // per tick; 0 if the queue has no timestamps
  std::uint64_t timestamp_mask = 0;    // the bits that count
};

struct Adapter {
  VkPhysicalDevice handle = VK_NULL_HANDLE;
  std::string name;
  std::string id;  // the driver's UUID of the device
  std::uint32_t queue_family = 0;
  bool is_software = false;  // it runs on the CPU
  bool is_discrete = false;
  Abilities abilities;
  std::string why_unusable;          // empty if it can be used
  std::vector<std::string> lacking;  // what the kernels have to do without, worded for the user

  std::string description() const;
};

class Instance {
 public:
  // The one instance of the process, created on first use. Throws Error if there is no loader or no driver.
  static const Instance& get();

  VkInstance handle() const { return handle_; }
  bool validates() const { return validates_; }
  const std::vector<Adapter>& adapters() const { return adapters_; }  // real GPUs first

  // With the environment variable STIPPLE_VULKAN_VALIDATION set to 1, the validation layers check every call.
  // Throws Error with the first message that they have emitted, if any.
  void check_validation() const;

 private:
  Instance();
  void find_adapters();

  VkInstance handle_ = VK_NULL_HANDLE;
  bool validates_ = false;
  std::vector<Adapter> adapters_;
};

}  // namespace stipple::vulkan
