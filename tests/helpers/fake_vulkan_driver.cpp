// SPDX-License-Identifier: Apache-2.0
// A Vulkan driver whose devices exist only on paper, so that the choice of a device can be tested on any
// machine. The environment variable STIPPLE_FAKE_DEVICES lists devices of kKinds; with "broken", the driver
// fails to start. Its devices can be listed and queried, but not opened.
#include <vulkan/vk_icd.h>
#include <vulkan/vulkan.h>

#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Kind {
  const char* key;
  const char* name;
  VkPhysicalDeviceType type;
  std::uint32_t api_version = VK_API_VERSION_1_2;
  std::uint32_t shared_bytes = 32768, group_threads = 256, buffers = 32;
  std::uint32_t subgroup_size = 0;  // 0 means that there are no subgroup operations
  bool has_float_atomics = false;
};

constexpr Kind kKinds[] = {
    {.key = "radeon",
     .name = "Fake Radeon",
     .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     .subgroup_size = 64,
     .has_float_atomics = true},
    {.key = "arc", .name = "Fake Arc", .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, .subgroup_size = 16},
    {.key = "plain", .name = "Fake Plain", .type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU},
    {.key = "software",
     .name = "Fake Software",
     .type = VK_PHYSICAL_DEVICE_TYPE_CPU,
     .subgroup_size = 8,
     .has_float_atomics = true},
    {.key = "old",
     .name = "Fake Old",
     .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     .api_version = VK_API_VERSION_1_1},
    {.key = "small",
     .name = "Fake Small",
     .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     .shared_bytes = 16384},
    {.key = "narrow",
     .name = "Fake Narrow",
     .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU,
     .group_threads = 128},
    {.key = "few", .name = "Fake Few", .type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, .buffers = 16},
};

// Handles begin with a word that belongs to the loader.
struct FakeInstance {
  VK_LOADER_DATA loader{ICD_LOADER_MAGIC};
};
struct FakeDevice {
  VK_LOADER_DATA loader{ICD_LOADER_MAGIC};
  const Kind* kind = nullptr;
};

std::string wanted() {
  const char* text = std::getenv("STIPPLE_FAKE_DEVICES");
  return text ? text : "";
}

std::vector<FakeDevice>& devices() {
  static std::vector<FakeDevice> all = [] {
    std::vector<FakeDevice> found;
    std::istringstream words(wanted());
    for (std::string word; words >> word;)
      for (const Kind& kind : kKinds)
        if (word == kind.key) found.push_back({{ICD_LOADER_MAGIC}, &kind});
    return found;
  }();
  return all;
}

const Kind& kind_of(VkPhysicalDevice device) { return *reinterpret_cast<FakeDevice*>(device)->kind; }

// Returns a list as Vulkan does: its length, or its elements.
template <class T>
VkResult give(const std::vector<T>& list, std::uint32_t* count, T* to) {
  if (to)
    for (std::uint32_t i = 0; i < *count && i < list.size(); ++i) to[i] = list[i];
  *count = static_cast<std::uint32_t>(list.size());
  return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL list_instance_extensions(const char*, std::uint32_t* count,
                                                        VkExtensionProperties* to) {
  return give<VkExtensionProperties>({}, count, to);
}

VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo*, const VkAllocationCallbacks*,
                                               VkInstance* instance) {
  if (wanted() == "broken") return VK_ERROR_INITIALIZATION_FAILED;
  *instance = reinterpret_cast<VkInstance>(new FakeInstance);
  return VK_SUCCESS;
}

VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance instance, const VkAllocationCallbacks*) {
  delete reinterpret_cast<FakeInstance*>(instance);
}

VKAPI_ATTR VkResult VKAPI_CALL list_devices(VkInstance, std::uint32_t* count, VkPhysicalDevice* to) {
  std::vector<VkPhysicalDevice> handles;
  for (FakeDevice& device : devices()) handles.push_back(reinterpret_cast<VkPhysicalDevice>(&device));
  return give(handles, count, to);
}

VKAPI_ATTR VkResult VKAPI_CALL list_extensions(VkPhysicalDevice device, const char*, std::uint32_t* count,
                                               VkExtensionProperties* to) {
  std::vector<VkExtensionProperties> all;
  if (kind_of(device).has_float_atomics)
    std::strcpy(all.emplace_back().extensionName, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
  return give(all, count, to);
}

VKAPI_ATTR void VKAPI_CALL get_properties(VkPhysicalDevice device, VkPhysicalDeviceProperties* to) {
  const Kind& kind = kind_of(device);
  *to = {};
  to->apiVersion = kind.api_version;
  to->deviceType = kind.type;
  std::strcpy(to->deviceName, kind.name);
  to->limits.maxComputeSharedMemorySize = kind.shared_bytes;
  to->limits.maxComputeWorkGroupInvocations = to->limits.maxComputeWorkGroupSize[0] = kind.group_threads;
  to->limits.maxPerStageDescriptorStorageBuffers = to->limits.maxDescriptorSetStorageBuffers = kind.buffers;
  to->limits.maxStorageBufferRange = 1u << 30;
}

// The struct of that type in a chain; null if there is none.
template <class T>
T* find_struct(void* chain, VkStructureType type) {
  for (auto* s = static_cast<VkBaseOutStructure*>(chain); s; s = s->pNext)
    if (s->sType == type) return reinterpret_cast<T*>(s);
  return nullptr;
}

VKAPI_ATTR void VKAPI_CALL get_properties2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* to) {
  get_properties(device, &to->properties);
  auto* more = find_struct<VkPhysicalDeviceVulkan11Properties>(
      to->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
  if (!more || kind_of(device).subgroup_size == 0) return;
  more->subgroupSize = kind_of(device).subgroup_size;
  more->subgroupSupportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
  more->subgroupSupportedOperations = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
                                      VK_SUBGROUP_FEATURE_ARITHMETIC_BIT | VK_SUBGROUP_FEATURE_BALLOT_BIT |
                                      VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                                      VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT;
}

VKAPI_ATTR void VKAPI_CALL get_features2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* to) {
  to->features = {};
  if (auto* atomics = find_struct<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(
          to->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT))
    atomics->shaderBufferFloat32AtomicAdd = kind_of(device).has_float_atomics;
}

VKAPI_ATTR void VKAPI_CALL get_queues(VkPhysicalDevice, std::uint32_t* count, VkQueueFamilyProperties* to) {
  VkQueueFamilyProperties family{};
  family.queueFlags = VK_QUEUE_COMPUTE_BIT;
  family.queueCount = 1;
  give<VkQueueFamilyProperties>({family}, count, to);
}

VKAPI_ATTR void VKAPI_CALL get_memory(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* to) {
  *to = {};
  to->memoryHeapCount = 1;
  to->memoryHeaps[0] = {std::uint64_t{4} << 30, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
}

VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice, const VkDeviceCreateInfo*,
                                             const VkAllocationCallbacks*, VkDevice*) {
  return VK_ERROR_INITIALIZATION_FAILED;
}

VKAPI_ATTR void VKAPI_CALL not_called() { std::abort(); }  // the loader demands these functions

template <class F>
PFN_vkVoidFunction pointer(F* function) {
  return reinterpret_cast<PFN_vkVoidFunction>(function);
}

}  // namespace

extern "C" {

VKAPI_ATTR VkResult VKAPI_CALL vk_icdNegotiateLoaderICDInterfaceVersion(std::uint32_t* version) {
  *version = 5;
  return VK_SUCCESS;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL vk_icdGetInstanceProcAddr(VkInstance, const char* name) {
  const struct {
    const char* name;
    PFN_vkVoidFunction function;
  } functions[] = {
      {"vkEnumerateInstanceExtensionProperties", pointer(list_instance_extensions)},
      {"vkCreateInstance", pointer(create_instance)},
      {"vkDestroyInstance", pointer(destroy_instance)},
      {"vkEnumeratePhysicalDevices", pointer(list_devices)},
      {"vkEnumerateDeviceExtensionProperties", pointer(list_extensions)},
      {"vkGetPhysicalDeviceProperties", pointer(get_properties)},
      {"vkGetPhysicalDeviceProperties2", pointer(get_properties2)},
      {"vkGetPhysicalDeviceFeatures2", pointer(get_features2)},
      {"vkGetPhysicalDeviceQueueFamilyProperties", pointer(get_queues)},
      {"vkGetPhysicalDeviceMemoryProperties", pointer(get_memory)},
      {"vkCreateDevice", pointer(create_device)},
      {"vkGetPhysicalDeviceFeatures", pointer(not_called)},
      {"vkGetPhysicalDeviceFormatProperties", pointer(not_called)},
      {"vkGetPhysicalDeviceImageFormatProperties", pointer(not_called)},
      {"vkGetPhysicalDeviceSparseImageFormatProperties", pointer(not_called)},
      {"vkGetDeviceProcAddr", pointer(not_called)},
  };
  for (const auto& f : functions)
    if (std::strcmp(f.name, name) == 0) return f.function;
  return nullptr;
}

}  // extern "C"
