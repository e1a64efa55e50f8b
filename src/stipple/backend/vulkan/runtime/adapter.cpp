// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/runtime/adapter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <span>

#include "stipple/core/error.h"

namespace stipple::vulkan {

namespace {

constexpr std::uint32_t kMinSharedBytes = 32768, kMinGroupThreads = 256, kMinBindings = 28;
constexpr std::uint32_t kMinSubgroup = 4, kMaxSubgroup = 128;
constexpr std::uint32_t kApple = 0x106b;  // as a vendor
constexpr double kGiB = 1 << 30;

// Calls a function that returns a list: call(&count, elements).
template <class T, class Call>
std::vector<T> list(const char* what, Call call) {
  std::uint32_t count = 0;
  check(call(&count, static_cast<T*>(nullptr)), what);
  std::vector<T> all(count);
  check(call(&count, all.data()), what);
  all.resize(count);
  return all;
}

bool has_extension(std::span<const VkExtensionProperties> all, const char* name) {
  return std::ranges::any_of(all, [&](const auto& e) { return std::strcmp(e.extensionName, name) == 0; });
}

bool wants_validation() {
  const char* value = std::getenv("STIPPLE_VULKAN_VALIDATION");
  return value && std::strcmp(value, "1") == 0;
}

std::mutex message_mutex;
std::string first_message;

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void*) {
  const std::lock_guard lock(message_mutex);
  if (first_message.empty()) first_message = data->pMessage;
  return VK_FALSE;
}

constexpr std::uint32_t kSubgroupOperations =
    VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;

// Everything that is asked of a device, in one chain of structs.
struct Query {
  std::vector<VkExtensionProperties> extensions;
  VkPhysicalDeviceProperties properties{};
  VkPhysicalDeviceVulkan11Properties properties11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES};
  VkPhysicalDeviceSubgroupSizeControlProperties subgroup_sizes{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceSubgroupSizeControlFeatures size_control{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  VkPhysicalDeviceVulkan12Features features12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceMemoryProperties memory{};

  explicit Query(VkPhysicalDevice device) {
    extensions = list<VkExtensionProperties>("list the device's extensions", [&](auto* count, auto* all) {
      return vkEnumerateDeviceExtensionProperties(device, nullptr, count, all);
    });
    if (has_extension(extensions, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
      properties11.pNext = &subgroup_sizes;
    VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &properties11, {}};
    vkGetPhysicalDeviceProperties2(device, &all);
    properties = all.properties;
    VkPhysicalDeviceFeatures2 features{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &features12, {}};
    void** next = &features12.pNext;
    const auto add = [&](const char* extension, auto& to) {
      if (!has_extension(extensions, extension)) return;
      *next = &to;
      next = &to.pNext;
    };
    add(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, atomics);
    add(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME, size_control);
    if (properties.apiVersion >= VK_API_VERSION_1_2) vkGetPhysicalDeviceFeatures2(device, &features);
    vkGetPhysicalDeviceMemoryProperties(device, &memory);
  }
};

bool can_pin_subgroup_size(const Query& query) {
  return query.size_control.subgroupSizeControl && query.size_control.computeFullSubgroups &&
         (query.subgroup_sizes.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
         query.properties11.subgroupSize * query.subgroup_sizes.maxComputeWorkgroupSubgroups >=
             kMinGroupThreads;
}

// Whether subgroups have the size that the driver reports. One with several sizes may choose a smaller one
// for a kernel, and MoltenVK, which does so on GPUs by Intel and AMD, cannot be told which.
bool has_known_subgroup_size(const Query& query) {
  return can_pin_subgroup_size(query) ||
         query.subgroup_sizes.minSubgroupSize == query.subgroup_sizes.maxSubgroupSize ||
         query.properties.vendorID == kApple;
}

Abilities abilities_of(const Query& query, const VkQueueFamilyProperties& family) {
  Abilities a;
  const VkPhysicalDeviceVulkan11Properties& p = query.properties11;
  const bool has_subgroups = (p.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT) &&
                             (p.subgroupSupportedOperations & kSubgroupOperations) == kSubgroupOperations &&
                             p.subgroupSize >= kMinSubgroup && p.subgroupSize <= kMaxSubgroup &&
                             has_known_subgroup_size(query);
  a.subgroup_size = has_subgroups ? p.subgroupSize : 1;
  a.pins_subgroup_size = has_subgroups && can_pin_subgroup_size(query);
  a.float_atomics = query.atomics.shaderBufferFloat32AtomicAdd;
  a.max_binding_bytes = query.properties.limits.maxStorageBufferRange;
  a.split_bytes = std::bit_floor(a.max_binding_bytes);
  a.binding_alignment = std::max<VkDeviceSize>(query.properties.limits.minStorageBufferOffsetAlignment, 16);
  a.max_allocation_bytes = p.maxMemoryAllocationSize;
  for (std::uint32_t i = 0; i < query.memory.memoryHeapCount; ++i)
    if (query.memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT)
      a.heap_bytes = std::max(a.heap_bytes, query.memory.memoryHeaps[i].size);
  a.has_other_memory = query.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ||
                       query.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
  a.has_memory_budget = has_extension(query.extensions, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
  a.is_portability_subset = has_extension(query.extensions, "VK_KHR_portability_subset");
  if (family.timestampValidBits > 0)
    a.timestamp_ns = static_cast<double>(query.properties.limits.timestampPeriod);
  a.timestamp_mask = family.timestampValidBits >= 64 ? ~std::uint64_t{0}
                                                     : (std::uint64_t{1} << family.timestampValidBits) - 1;
  return a;
}

std::string why_unusable(const Query& query) {
  const VkPhysicalDeviceLimits& l = query.properties.limits;
  if (query.properties.apiVersion < VK_API_VERSION_1_2) return "its driver does not support Vulkan 1.2";
  if (l.maxComputeSharedMemorySize < kMinSharedBytes)
    return fmt::format("it has {} bytes of shared memory, and {} are needed", l.maxComputeSharedMemorySize,
                       kMinSharedBytes);
  if (const std::uint32_t threads = std::min(l.maxComputeWorkGroupInvocations, l.maxComputeWorkGroupSize[0]);
      threads < kMinGroupThreads)
    return fmt::format("it runs at most {} threads in a work group, and {} are needed", threads,
                       kMinGroupThreads);
  if (std::min(l.maxPerStageDescriptorStorageBuffers, l.maxDescriptorSetStorageBuffers) < kMinBindings)
    return fmt::format("a kernel can use at most {} buffers, and {} are needed",
                       std::min(l.maxPerStageDescriptorStorageBuffers, l.maxDescriptorSetStorageBuffers),
                       kMinBindings);
  return "";
}

std::vector<std::string> lacking(const Abilities& a) {
  std::vector<std::string> words;
  if (a.subgroup_size == 1) words.push_back("subgroup operations");
  if (!a.float_atomics) words.push_back("float atomics");
  return words;
}

}  // namespace

std::string Adapter::description() const {
  std::string text = name;
  if (is_software) text += ", software on the CPU";
  if (!why_unusable.empty()) return text + "; cannot be used: " + why_unusable;
  text += fmt::format(", {:.1f} GiB", static_cast<double>(abilities.heap_bytes) / kGiB);
  if (abilities.subgroup_size > 1) text += fmt::format(", subgroups of {}", abilities.subgroup_size);
  return lacking.empty() ? text : text + fmt::format(", without {}", fmt::join(lacking, " and "));
}

const Instance& Instance::get() {
  static const Instance instance;
  return instance;
}

Instance::Instance() {
  if (volkInitialize() != VK_SUCCESS)
    throw Error("Vulkan is not installed (its loader, libvulkan.so.1, was not found)");
  if (volkGetInstanceVersion() < VK_API_VERSION_1_1)
    throw Error("the installed Vulkan loader is older than 1.1");
  const auto available = list<VkExtensionProperties>(
      "list the extensions of Vulkan",
      [](auto* count, auto* all) { return vkEnumerateInstanceExtensionProperties(nullptr, count, all); });
  std::vector<const char*> extensions, layers;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  if (has_extension(available, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {  // MoltenVK
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  const VkValidationFeatureEnableEXT synchronisation =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT validation{VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT};
  validation.enabledValidationFeatureCount = 1;
  validation.pEnabledValidationFeatures = &synchronisation;
  validates_ = wants_validation();
  if (validates_) {
    layers.push_back("VK_LAYER_KHRONOS_validation");
    extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    info.pNext = &validation;
  }
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = application.pEngineName = "stipple";
  application.apiVersion = VK_API_VERSION_1_2;
  info.pApplicationInfo = &application;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  info.enabledLayerCount = static_cast<std::uint32_t>(layers.size());
  info.ppEnabledLayerNames = layers.data();
  const VkResult made = vkCreateInstance(&info, nullptr, &handle_);
  if (made == VK_ERROR_LAYER_NOT_PRESENT)
    throw Error("STIPPLE_VULKAN_VALIDATION is 1, but the Khronos validation layer is not installed");
  if (made == VK_ERROR_INCOMPATIBLE_DRIVER) throw Error("no working Vulkan driver is installed");
  check(made, "start Vulkan");
  volkLoadInstance(handle_);
  if (validates_) {
    VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
    messenger.messageSeverity =
        VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
    messenger.pfnUserCallback = on_message;
    VkDebugUtilsMessengerEXT made_messenger;
    check(vkCreateDebugUtilsMessengerEXT(handle_, &messenger, nullptr, &made_messenger), "use validation");
  }
  find_adapters();
}

void Instance::find_adapters() {
  std::uint32_t device_count = 0;
  // This is how some loaders report that no driver has found a device.
  if (vkEnumeratePhysicalDevices(handle_, &device_count, nullptr) == VK_ERROR_INITIALIZATION_FAILED) return;
  const auto devices = list<VkPhysicalDevice>("list the GPUs", [&](auto* count, auto* all) {
    return vkEnumeratePhysicalDevices(handle_, count, all);
  });
  for (VkPhysicalDevice device : devices) {
    const Query query(device);
    std::uint32_t count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
    std::vector<VkQueueFamilyProperties> families(count);
    vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
    const auto family = std::ranges::find_if(
        families, [](const auto& f) { return (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });
    if (family == families.end()) continue;
    Adapter a;
    a.handle = device;
    a.name = query.properties.deviceName;
    for (const unsigned byte : query.properties11.deviceUUID) a.id += fmt::format("{:02x}", byte);
    a.queue_family = static_cast<std::uint32_t>(family - families.begin());
    a.is_software = query.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    a.is_discrete = query.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    a.abilities = abilities_of(query, *family);
    a.why_unusable = vulkan::why_unusable(query);
    a.lacking = vulkan::lacking(a.abilities);
    adapters_.push_back(std::move(a));
  }
  const auto rank = [](const Adapter& a) {
    return !a.why_unusable.empty() ? 3 : a.is_software ? 2 : a.is_discrete ? 0 : 1;
  };
  std::ranges::stable_sort(adapters_, {}, rank);
}

void Instance::check_validation() const {
  const std::lock_guard lock(message_mutex);
  if (!first_message.empty()) throw Error("Vulkan validation: " + std::exchange(first_message, ""));
}

}  // namespace stipple::vulkan
