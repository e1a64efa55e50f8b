// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/runtime/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <optional>

namespace stipple::vulkan {

namespace {

// At most this, or 1 / kMostRetiredPart of the memory, is retired for long.
constexpr std::size_t kMostRetiredBytes = std::size_t{1} << 19, kMostRetiredPart = 32;
constexpr double kMiB = 1 << 20;
constexpr VkDeviceSize kBlockBytes = VkDeviceSize{32} << 20;
constexpr std::size_t kHostChunkBytes = std::size_t{1} << 20;
constexpr std::size_t kMostCopiedBytes = std::size_t{64} << 20;  // waiting in one batch
constexpr std::uint32_t kSetsPerPool = 64, kMostBindings = 28;

std::optional<std::uint32_t> find_memory(const VkPhysicalDeviceMemoryProperties& memory, std::uint32_t types,
                                         VkMemoryPropertyFlags wanted) {
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i)
    if ((types >> i & 1) && (memory.memoryTypes[i].propertyFlags & wanted) == wanted) return i;
  return std::nullopt;
}

// To a multiple of 16, so that kernels can read whole vectors; buffers cannot be empty.
std::size_t padded(std::size_t bytes) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 16 * 16;
  return bytes > kMost ? kMost : (std::max<std::size_t>(bytes, 1) + 15) / 16 * 16;
}

std::size_t own_bytes(const Buffer& buffer) { return buffer.place == Place::kDevice ? buffer.bytes : 0; }

VkBuffer make_handle(VkDevice device, VkDeviceSize bytes) {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT |
               VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  check(vkCreateBuffer(device, &info, nullptr, &buffer), "create a buffer");
  return buffer;
}

}  // namespace

VulkanMemory::VulkanMemory(std::shared_ptr<Context> context, std::size_t bytes, Place place)
    : context_(std::move(context)), bytes_(padded(bytes)), buffer_(context_->allocate(bytes_, place)) {}

VulkanMemory::~VulkanMemory() { context_->retire(buffer_); }

Context::Context(const Adapter& adapter, const Abilities& abilities, std::size_t max_bytes)
    : abilities_(abilities), max_bytes_(max_bytes), queue_family_(adapter.queue_family) {
  std::vector<const char*> extensions;
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomics{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceSubgroupSizeControlFeatures size_control{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
  const void* chain = nullptr;
  if (abilities_.float_atomics) {
    extensions.push_back(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME);
    atomics.shaderBufferFloat32AtomicAdd = VK_TRUE;
    atomics.pNext = const_cast<void*>(std::exchange(chain, &atomics));
  }
  if (abilities_.pins_subgroup_size) {
    extensions.push_back(VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    size_control.subgroupSizeControl = size_control.computeFullSubgroups = VK_TRUE;
    size_control.pNext = const_cast<void*>(std::exchange(chain, &size_control));
  }
  if (abilities_.is_portability_subset) extensions.push_back("VK_KHR_portability_subset");  // must be enabled
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = adapter.queue_family;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = chain;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  check(vkCreateDevice(adapter.handle, &info, nullptr, &device_), ("open " + adapter.name).c_str());
  vkGetDeviceQueue(device_, adapter.queue_family, 0, &queue_);

  try {
    open_memory(adapter);
  } catch (...) {
    vkDestroyDevice(device_, nullptr);
    throw;
  }
}

void Context::open_memory(const Adapter& adapter) {
  VkPhysicalDeviceMemoryProperties memory{};
  vkGetPhysicalDeviceMemoryProperties(adapter.handle, &memory);
  const VkBuffer probe = make_handle(device_, 16);
  VkMemoryRequirements needed{};
  vkGetBufferMemoryRequirements(device_, probe, &needed);
  vkDestroyBuffer(device_, probe, nullptr);
  const auto find = [&](std::initializer_list<VkMemoryPropertyFlags> by_preference) {
    for (const VkMemoryPropertyFlags wanted : by_preference)
      if (const auto type = find_memory(memory, needed.memoryTypeBits, wanted)) return *type;
    throw Error("the GPU has no memory that buffers can use");
  };
  constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                  kHost = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  const std::uint32_t local = find({kLocal}), parameters = find({kLocal | kHost, kHost}),
                      copies = find({kHost | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kHost});
  device_pool_ = std::make_unique<MemoryPool>(device_, local, kBlockBytes, false);
  host_pool_ = std::make_unique<MemoryPool>(device_, copies, kBlockBytes, false);
  parameter_pool_ = std::make_unique<MemoryPool>(device_, parameters, kHostChunkBytes, true);
  copy_pool_ = std::make_unique<MemoryPool>(device_, copies, 4 * kHostChunkBytes, true);
  check(make_buffer(256, *device_pool_, nothing_), "allocate memory");
}

Context::~Context() {
  if (device_ == VK_NULL_HANDLE) return;
  vkDeviceWaitIdle(device_);
  for (auto& batch : submitted_) destroy(*batch);
  for (auto& batch : idle_) destroy(*batch);
  if (current_) destroy(*current_);
  if (nothing_.handle) free_now(nothing_, *device_pool_);
  for (auto& [key, kernel] : kernels_) {
    vkDestroyPipeline(device_, kernel.pipeline, nullptr);
    vkDestroyPipelineLayout(device_, kernel.layout, nullptr);
    vkDestroyDescriptorSetLayout(device_, kernel.set_layout, nullptr);
  }
  for (auto& [name, module] : modules_) vkDestroyShaderModule(device_, module, nullptr);
  device_pool_.reset();
  host_pool_.reset();
  parameter_pool_.reset();
  copy_pool_.reset();
  vkDestroyDevice(device_, nullptr);
}

std::size_t Context::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

std::size_t Context::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

VkResult Context::make_buffer(std::size_t bytes, MemoryPool& pool, Buffer& buffer) {
  buffer.handle = make_handle(device_, bytes);
  VkMemoryRequirements needed{};
  vkGetBufferMemoryRequirements(device_, buffer.handle, &needed);
  VkResult result = needed.memoryTypeBits >> pool.type() & 1 ? pool.allocate(needed, buffer.range)
                                                             : VK_ERROR_OUT_OF_DEVICE_MEMORY;
  if (result == VK_SUCCESS) {
    result = vkBindBufferMemory(device_, buffer.handle, buffer.range.memory(), buffer.range.offset);
    if (result != VK_SUCCESS) pool.free(buffer.range);
  }
  if (result != VK_SUCCESS) vkDestroyBuffer(device_, std::exchange(buffer.handle, VK_NULL_HANDLE), nullptr);
  return result;
}

void Context::free_now(const Buffer& buffer, MemoryPool& pool) noexcept {
  vkDestroyBuffer(device_, buffer.handle, nullptr);
  pool.free(buffer.range);
}

Buffer Context::allocate(std::size_t bytes, Place place) {
  const std::lock_guard lock(mutex_);
  const bool is_own = place == Place::kDevice;
  const auto fail = [&](const char* why) {
    const double mib = static_cast<double>(bytes) / kMiB;
    if (!is_own) throw OutOfMemory(fmt::format("cannot allocate {:.0f} MiB on the host for the GPU", mib));
    throw OutOfMemory(fmt::format("cannot allocate {:.0f} MiB on the GPU: {:.0f} MiB are in use, {}", mib,
                                  static_cast<double>(used_bytes_) / kMiB, why));
  };
  if (bytes > abilities_.max_allocation_bytes) fail("and its driver cannot allocate as much at once");
  const auto is_over = [&] { return is_own && (bytes > max_bytes_ || used_bytes_ > max_bytes_ - bytes); };
  // This frees what has been retired, as the arrays of a refinement one after another.
  if (is_over() || retired_bytes_ > std::max(kMostRetiredBytes, used_bytes_ / kMostRetiredPart))
    wait_for_all();
  if (is_over()) fail("and the total would exceed the memory limit");
  Buffer buffer;
  const auto is_full = [&](VkResult result) {
    return result == VK_ERROR_OUT_OF_DEVICE_MEMORY || (!is_own && result == VK_ERROR_OUT_OF_HOST_MEMORY);
  };
  VkResult result = make_buffer(bytes, pool_of(place), buffer);
  if (is_full(result)) {
    wait_for_all();
    result = make_buffer(bytes, pool_of(place), buffer);
  }
  if (is_full(result)) fail("and other programs may hold the rest");
  check(result, "allocate memory");
  buffer.place = place;
  buffer.bytes = bytes;
  used_bytes_ += own_bytes(buffer);
  peak_bytes_ = std::max(peak_bytes_, used_bytes_);
  return buffer;
}

void Context::retire(const Buffer& buffer) noexcept {
  const std::lock_guard lock(mutex_);
  if (submitted_.empty() && (!current_ || current_->is_empty)) {
    used_bytes_ -= own_bytes(buffer);
    free_now(buffer, pool_of(buffer.place));
    return;
  }
  // Without a batch under way, the last submitted one is the last that can use the buffer.
  Batch& last = current_ && !current_->is_empty ? *current_ : *submitted_.back();
  last.retired.push_back(buffer);
  retired_bytes_ += buffer.bytes;
}

void Context::forget_retired(const Batch& batch) noexcept {
  for (const Buffer& buffer : batch.retired) {
    used_bytes_ -= own_bytes(buffer);
    retired_bytes_ -= buffer.bytes;
  }
}

std::unique_ptr<Context::Batch> Context::make_batch() {
  auto batch = std::make_unique<Batch>();
  try {
    VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool.queueFamilyIndex = queue_family_;
    check(vkCreateCommandPool(device_, &pool, nullptr, &batch->pool), "create a command pool");
    VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
    commands.commandPool = batch->pool;
    commands.commandBufferCount = 1;
    check(vkAllocateCommandBuffers(device_, &commands, &batch->commands), "create a command buffer");
    const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    check(vkCreateFence(device_, &fence, nullptr, &batch->fence), "create a fence");
  } catch (...) {
    destroy(*batch);
    throw;
  }
  return batch;
}

void Context::destroy(Batch& batch) noexcept {
  for (const Buffer& buffer : batch.retired) free_now(buffer, pool_of(buffer.place));
  for (const Batch::Chunk& chunk : batch.parameters) free_now(chunk.buffer, *parameter_pool_);
  for (const Batch::Chunk& chunk : batch.copies) free_now(chunk.buffer, *copy_pool_);
  for (VkDescriptorPool pool : batch.descriptor_pools) vkDestroyDescriptorPool(device_, pool, nullptr);
  vkDestroyFence(device_, batch.fence, nullptr);
  vkDestroyCommandPool(device_, batch.pool, nullptr);
}

Context::Batch& Context::current() {
  if (current_ && !current_->is_empty) return *current_;
  if (is_lost_) check(VK_ERROR_DEVICE_LOST, "use the GPU");
  if (!current_) {
    if (idle_.empty()) idle_.push_back(make_batch());
    current_ = std::move(idle_.back());
    idle_.pop_back();
  }
  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(vkBeginCommandBuffer(current_->commands, &begin), "record commands");
  current_->is_empty = false;
  return *current_;
}

void Context::submit() {
  if (!current_ || current_->is_empty) return;
  std::unique_ptr<Batch> batch = std::move(current_);
  VkSubmitInfo info{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  info.commandBufferCount = 1;
  info.pCommandBuffers = &batch->commands;
  VkResult result = vkEndCommandBuffer(batch->commands);
  if (result == VK_SUCCESS && submit_count_++ == lost_at_) result = VK_ERROR_DEVICE_LOST;
  if (result == VK_SUCCESS) result = vkQueueSubmit(queue_, 1, &info, batch->fence);
  if (result != VK_SUCCESS) {
    // What was recorded will never run, though later work relies on it: the device is of no further use.
    is_lost_ = true;
    forget_retired(*batch);
    destroy(*batch);
    check(result, "start the work on the GPU");
  }
  submitted_.push_back(std::move(batch));
}

void Context::recycle_first() {
  Batch& batch = *submitted_.front();
  const VkResult result = vkWaitForFences(device_, 1, &batch.fence, VK_TRUE, UINT64_MAX);
  if (result != VK_SUCCESS) {
    is_lost_ = true;
    check(result, "finish the work on the GPU");
  }
  forget_retired(batch);
  for (const Buffer& buffer : batch.retired) free_now(buffer, pool_of(buffer.place));
  batch.retired.clear();
  // One chunk for small copies is kept for the next batch.
  while (batch.copies.size() > 1 || (!batch.copies.empty() && batch.copies[0].bytes > kHostChunkBytes)) {
    free_now(batch.copies.back().buffer, *copy_pool_);
    batch.copies.pop_back();
  }
  for (auto* chunks : {&batch.parameters, &batch.copies})
    for (Batch::Chunk& chunk : *chunks) chunk.used = 0;
  batch.copied_bytes = 0;
  for (VkDescriptorPool pool : batch.descriptor_pools) vkResetDescriptorPool(device_, pool, 0);
  batch.pools_used = 0;
  batch.is_empty = true;
  check(vkResetFences(device_, 1, &batch.fence), "reset a fence");
  check(vkResetCommandPool(device_, batch.pool, 0), "reset a command pool");
  idle_.push_back(std::move(submitted_.front()));
  submitted_.pop_front();
}

void Context::wait_for_all() {
  submit();
  while (!submitted_.empty()) recycle_first();
  Instance::get().check_validation();
}

Context::HostRange Context::range_in(std::vector<Batch::Chunk>& chunks, MemoryPool& pool, std::size_t bytes) {
  const std::size_t alignment = static_cast<std::size_t>(abilities_.binding_alignment);
  const std::size_t size = (bytes + alignment - 1) / alignment * alignment;
  for (Batch::Chunk& chunk : chunks)
    if (chunk.bytes - chunk.used >= size) {
      const std::size_t at = chunk.used;
      chunk.used += size;
      return {chunk.buffer.handle, at, chunk.buffer.range.mapped() + at};
    }
  Batch::Chunk chunk;
  chunk.bytes = std::max(size, kHostChunkBytes);
  check(make_buffer(chunk.bytes, pool, chunk.buffer), "allocate memory for a copy");
  chunk.used = size;
  chunks.push_back(chunk);
  return {chunk.buffer.handle, 0, chunk.buffer.range.mapped()};
}

Context::HostRange Context::parameter_range(std::size_t bytes) {
  return range_in(current().parameters, *parameter_pool_, bytes);
}

Context::HostRange Context::copy_range(std::size_t bytes) {
  if (current().copied_bytes + bytes > kMostCopiedBytes) wait_for_all();  // frees the copies so far
  current().copied_bytes += bytes;
  return range_in(current().copies, *copy_pool_, bytes);
}

VkDescriptorSet Context::descriptor_set(const Kernel& kernel) {
  Batch& batch = current();
  for (;; ++batch.pools_used) {
    if (batch.pools_used == batch.descriptor_pools.size()) {
      const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kSetsPerPool * kMostBindings};
      VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
      info.maxSets = kSetsPerPool;
      info.poolSizeCount = 1;
      info.pPoolSizes = &size;
      VkDescriptorPool pool = VK_NULL_HANDLE;
      check(vkCreateDescriptorPool(device_, &info, nullptr, &pool), "create a descriptor pool");
      batch.descriptor_pools.push_back(pool);
    }
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    info.descriptorPool = batch.descriptor_pools[batch.pools_used];
    info.descriptorSetCount = 1;
    info.pSetLayouts = &kernel.set_layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = vkAllocateDescriptorSets(device_, &info, &set);
    if (result == VK_SUCCESS) return set;
    if (result != VK_ERROR_OUT_OF_POOL_MEMORY && result != VK_ERROR_FRAGMENTED_POOL)
      check(result, "create a descriptor set");
  }
}

void Context::add_shader(const Shader& shader) {
  const std::lock_guard lock(mutex_);
  added_shaders_.push_back(shader);
}

const Shader& Context::shader_of(const std::string& name) const {
  const auto added = std::ranges::find(added_shaders_, name, &Shader::name);
  return added != added_shaders_.end() ? *added : find_shader(name);
}

Kernel Context::make_kernel(const std::string& shader, std::span<const std::uint32_t> constants) {
  const Shader& source = shader_of(shader);
  VkShaderModule& module = modules_[shader];
  if (module == VK_NULL_HANDLE) {
    // Metal has no such decoration: there, every decorated operation would become the call of a function.
    const std::vector<std::uint32_t> words = abilities_.is_portability_subset
                                                 ? std::vector(source.words.begin(), source.words.end())
                                                 : without_contraction(source.words);
    VkShaderModuleCreateInfo info{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
    info.codeSize = words.size() * sizeof(std::uint32_t);
    info.pCode = words.data();
    check(vkCreateShaderModule(device_, &info, nullptr, &module), "load a kernel");
  }
  Kernel kernel;
  kernel.binding_count = binding_count(source.words);
  assert(kernel.binding_count <= kMostBindings);
  std::vector<VkDescriptorSetLayoutBinding> bindings(kernel.binding_count);
  for (std::uint32_t i = 0; i < kernel.binding_count; ++i)
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = kernel.binding_count;
  set.pBindings = bindings.data();
  check(vkCreateDescriptorSetLayout(device_, &set, nullptr, &kernel.set_layout), "load a kernel");
  const VkPushConstantRange first_group{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(std::uint32_t)};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &kernel.set_layout;
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &first_group;
  check(vkCreatePipelineLayout(device_, &layout, nullptr, &kernel.layout), "load a kernel");

  std::vector<VkSpecializationMapEntry> entries(constants.size());
  for (std::uint32_t i = 0; i < entries.size(); ++i)
    entries[i] = {i, i * static_cast<std::uint32_t>(sizeof(std::uint32_t)), sizeof(std::uint32_t)};
  const VkSpecializationInfo specialization{static_cast<std::uint32_t>(entries.size()), entries.data(),
                                            constants.size_bytes(), constants.data()};
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO};
  size.requiredSubgroupSize = abilities_.subgroup_size;
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.stage.pSpecializationInfo = &specialization;
  // Other kernels may have the size that suits their use of registers.
  if (abilities_.pins_subgroup_size && shader.ends_with("_subgroups")) {
    info.stage.pNext = &size;
    constexpr std::uint32_t kLeastGroup = 64;  // threads of the smallest work groups of these kernels
    if (kLeastGroup % abilities_.subgroup_size == 0)
      info.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
  }
  info.layout = kernel.layout;
  check(vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &info, nullptr, &kernel.pipeline),
        "compile a kernel");
  return kernel;
}

const Kernel& Context::kernel(const std::string& shader, std::span<const std::uint32_t> constants) {
  std::pair key(shader, std::vector(constants.begin(), constants.end()));
  const auto found = kernels_.find(key);
  if (found != kernels_.end()) return found->second;
  return kernels_.emplace(std::move(key), make_kernel(shader, constants)).first->second;
}

void Commands::barrier() {
  VkMemoryBarrier all{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  all.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  all.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                      VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
  constexpr VkPipelineStageFlags kBefore =
      VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
  vkCmdPipelineBarrier(context_.current().commands, kBefore, kBefore | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0,
                       1, &all, 0, nullptr, 0, nullptr);
}

// The parts of a dispatch do not conflict, but the validation layers cannot know that.
void Commands::barrier_for_validation() {
  if (Instance::get().validates()) barrier();
}

const Kernel& Commands::prepare(const std::string& shader, std::span<const std::uint32_t> constants,
                                std::span<const std::byte> parameters, std::span<const Binding> bindings) {
  const Kernel& kernel = context_.kernel(shader, constants);
  const Context::HostRange range = context_.parameter_range(parameters.size());
  std::copy(parameters.begin(), parameters.end(), range.data);
  std::vector<VkDescriptorBufferInfo> buffers{{range.buffer, range.offset, parameters.size()}};
  for (const Binding& b : bindings) {
    if (!b.memory) {
      buffers.push_back({context_.nothing_.handle, 0, VK_WHOLE_SIZE});
      continue;
    }
    const std::size_t bytes = b.bytes > 0 ? b.bytes : b.memory->bytes() - b.offset;
    assert(b.offset + bytes <= b.memory->bytes());
    buffers.push_back({b.memory->buffer(), b.offset, bytes});
  }
  assert(buffers.size() >= kernel.binding_count);  // the compiler may have removed the last ones
  const VkDescriptorSet set = context_.descriptor_set(kernel);
  std::vector<VkWriteDescriptorSet> writes(kernel.binding_count);
  for (std::uint32_t i = 0; i < kernel.binding_count; ++i) {
    writes[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    writes[i].dstSet = set;
    writes[i].dstBinding = i;
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &buffers[i];
  }
  vkUpdateDescriptorSets(context_.device_, kernel.binding_count, writes.data(), 0, nullptr);
  const VkCommandBuffer commands = context_.current().commands;
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
  vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &set, 0, nullptr);
  barrier();
  return kernel;
}

void Commands::run_bytes(const std::string& shader, std::span<const std::uint32_t> constants,
                         std::span<const std::byte> parameters, std::span<const Binding> bindings,
                         std::size_t groups, std::size_t most_at_once) {
  if (groups == 0) return;
  const Kernel& kernel = prepare(shader, constants, parameters, bindings);
  const VkCommandBuffer commands = context_.current().commands;
  for (std::size_t first = 0; first < groups; first += most_at_once) {
    if (first > 0) barrier_for_validation();
    const auto push = static_cast<std::uint32_t>(first);
    vkCmdPushConstants(commands, kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
    vkCmdDispatch(commands, static_cast<std::uint32_t>(std::min(groups - first, most_at_once)), 1, 1);
  }
}

void Commands::run_indirect_bytes(const std::string& shader, std::span<const std::uint32_t> constants,
                                  std::span<const std::byte> parameters, std::span<const Binding> bindings,
                                  const VulkanMemory& arguments, std::size_t offset, std::size_t count,
                                  std::size_t most_at_once) {
  const Kernel& kernel = prepare(shader, constants, parameters, bindings);
  const VkCommandBuffer commands = context_.current().commands;
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) barrier_for_validation();
    const auto push = static_cast<std::uint32_t>(i * most_at_once);
    vkCmdPushConstants(commands, kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(push), &push);
    vkCmdDispatchIndirect(commands, arguments.buffer(), offset + i * sizeof(VkDispatchIndirectCommand));
  }
}

void Commands::upload(std::span<const std::byte> from, const VulkanMemory& to, std::size_t offset) {
  constexpr std::size_t kAtOnce = kMostCopiedBytes / 2;
  for (std::size_t at = 0; at < from.size(); at += kAtOnce) {
    const std::size_t bytes = std::min(from.size() - at, kAtOnce);
    const Context::HostRange range = context_.copy_range(bytes);
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(at), bytes, range.data);
    barrier();
    const VkBufferCopy region{range.offset, offset + at, bytes};
    vkCmdCopyBuffer(context_.current().commands, range.buffer, to.buffer(), 1, &region);
  }
}

void Commands::fill_zero(const VulkanMemory& memory, std::size_t offset, std::size_t bytes) {
  barrier();
  vkCmdFillBuffer(context_.current().commands, memory.buffer(), offset, (bytes + 3) / 4 * 4, 0);
}

void Commands::copy(const VulkanMemory& from, const VulkanMemory& to, std::size_t bytes) {
  barrier();
  const VkBufferCopy region{0, 0, bytes};
  vkCmdCopyBuffer(context_.current().commands, from.buffer(), to.buffer(), 1, &region);
}

void Commands::reset_timestamps(VkQueryPool pool, std::uint32_t count) {
  vkCmdResetQueryPool(context_.current().commands, pool, 0, count);
}

void Commands::write_timestamp(VkQueryPool pool, std::uint32_t index) {
  vkCmdWriteTimestamp(context_.current().commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool, index);
}

void Commands::download(const VulkanMemory& from, std::size_t offset, std::span<std::byte> to) {
  constexpr std::size_t kAtOnce = kMostCopiedBytes / 2;
  for (std::size_t at = 0; at < to.size(); at += kAtOnce) {
    const std::size_t bytes = std::min(to.size() - at, kAtOnce);
    const Context::HostRange range = context_.copy_range(bytes);
    barrier();
    const VkBufferCopy region{offset + at, range.offset, bytes};
    const VkCommandBuffer commands = context_.current().commands;
    vkCmdCopyBuffer(commands, from.buffer(), range.buffer, 1, &region);
    VkMemoryBarrier to_host{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
    to_host.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    to_host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host,
                         0, nullptr, 0, nullptr);
    context_.submit();
    // The memory of the range stays valid until its batch is recycled, so the copy comes first.
    while (context_.submitted_.size() > 1) context_.recycle_first();
    const VkFence fence = context_.submitted_.front()->fence;
    const VkResult result = vkWaitForFences(context_.device_, 1, &fence, VK_TRUE, UINT64_MAX);
    if (result != VK_SUCCESS) context_.is_lost_ = true;
    check(result, "finish the work on the GPU");
    std::copy_n(range.data, bytes, to.begin() + static_cast<std::ptrdiff_t>(at));
    context_.wait_for_all();
  }
}

}  // namespace stipple::vulkan
