// SPDX-License-Identifier: Apache-2.0
#pragma once
// One Vulkan device with one queue: its memory, its kernels, and the commands that have been recorded for it.
//
// Stages record commands; nothing runs until the host needs a result. A training step is thus one command
// buffer, submitted when its status is read. Every block of memory shares ownership of the context, so that
// arrays may outlive the backend.
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "stipple/backend/vulkan/runtime/adapter.h"
#include "stipple/backend/vulkan/runtime/memory_pool.h"
#include "stipple/backend/vulkan/runtime/shader.h"
#include "stipple/core/device.h"

namespace stipple::vulkan {

class Context;

struct Buffer {
  VkBuffer handle = VK_NULL_HANDLE;
  MemoryPool::Range range;
  std::size_t bytes = 0;  // as requested; the memory may be larger
  Place place = Place::kDevice;
};

class VulkanMemory : public Memory {
 public:
  VulkanMemory(std::shared_ptr<Context> context, std::size_t bytes, Place place = Place::kDevice);
  ~VulkanMemory() override;
  VulkanMemory(const VulkanMemory&) = delete;
  VulkanMemory& operator=(const VulkanMemory&) = delete;

  VkBuffer buffer() const { return buffer_.handle; }
  std::size_t bytes() const { return bytes_; }  // a multiple of 16

 private:
  std::shared_ptr<Context> context_;
  std::size_t bytes_;
  Buffer buffer_;
};

// A part of an array that a kernel accesses.
struct Binding {
  const VulkanMemory* memory = nullptr;  // null for an array that the kernel does not touch
  std::size_t offset = 0;
  std::size_t bytes = 0;  // 0 for all that follows
};

struct Kernel {
  VkPipeline pipeline = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  std::uint32_t binding_count = 0;
};

class Context : public std::enable_shared_from_this<Context> {
 public:
  Context(const Adapter& adapter, const Abilities& abilities, std::size_t max_bytes);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const Abilities& abilities() const { return abilities_; }
  std::size_t max_bytes() const { return max_bytes_; }
  std::size_t used_bytes() const;
  std::size_t peak_bytes() const;

  int submit_count() const { return submit_count_; }  // batches that the device has been given
  void lose_after(int submits) { lost_at_ = submit_count_ + submits; }  // for tests: the device is lost then

  // Throws OutOfMemory. Memory of the host does not count as used.
  Buffer allocate(std::size_t bytes, Place place = Place::kDevice);
  void retire(const Buffer& buffer) noexcept;  // frees it once the commands recorded so far have completed

  // Adds a kernel to those of the library. Its name and words must outlive the context.
  void add_shader(const Shader& shader);

 private:
  friend class Commands;

  // Commands that are submitted together, and what must stay alive until they have completed.
  struct Batch {
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkFence fence = VK_NULL_HANDLE;
    std::vector<VkDescriptorPool> descriptor_pools;
    std::size_t pools_used = 0;
    struct Chunk {
      Buffer buffer;
      std::size_t bytes = 0, used = 0;
    };
    std::vector<Chunk> parameters, copies;  // memory that the host can access
    std::size_t copied_bytes = 0;
    std::vector<Buffer> retired;
    bool is_empty = true;  // nothing has been recorded
  };

  const Shader& shader_of(const std::string& name) const;
  Kernel make_kernel(const std::string& shader, std::span<const std::uint32_t> constants);
  const Kernel& kernel(const std::string& shader, std::span<const std::uint32_t> constants);
  VkResult make_buffer(std::size_t bytes, MemoryPool& pool, Buffer& buffer);
  void forget_retired(const Batch& batch) noexcept;
  void free_now(const Buffer& buffer, MemoryPool& pool) noexcept;
  MemoryPool& pool_of(Place place) { return place == Place::kHost ? *host_pool_ : *device_pool_; }

  std::unique_ptr<Batch> make_batch();
  void destroy(Batch& batch) noexcept;
  Batch& current();  // begins recording if necessary
  void submit();
  void wait_for_all();   // submits what has been recorded, and waits
  void recycle_first();  // waits for the oldest submitted batch
  VkDescriptorSet descriptor_set(const Kernel& kernel);
  struct HostRange {
    VkBuffer buffer;
    std::size_t offset;
    std::byte* data;
  };
  // Valid until the current batch has completed.
  HostRange parameter_range(std::size_t bytes);
  HostRange copy_range(std::size_t bytes);
  HostRange range_in(std::vector<Batch::Chunk>& chunks, MemoryPool& pool, std::size_t bytes);
  void open_memory(const Adapter& adapter);

  Abilities abilities_;
  std::size_t max_bytes_, used_bytes_ = 0, peak_bytes_ = 0;
  std::size_t retired_bytes_ = 0;  // freed, but work under way may use them
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::uint32_t queue_family_;
  // Parameters are in the device's memory if the host can write there; copies are where the host reads fast.
  std::unique_ptr<MemoryPool> device_pool_, host_pool_, parameter_pool_, copy_pool_;
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, Kernel> kernels_;
  std::map<std::string, VkShaderModule> modules_;
  std::vector<Shader> added_shaders_;
  std::unique_ptr<Batch> current_;
  std::deque<std::unique_ptr<Batch>> submitted_;
  std::vector<std::unique_ptr<Batch>> idle_;
  Buffer nothing_;  // bound in place of arrays that do not exist
  bool is_lost_ = false;
  int submit_count_ = 0, lost_at_ = -1;
  mutable std::recursive_mutex mutex_;
};

// Records commands, and holds the context's lock meanwhile. The commands of several threads may be
// interleaved: they work on different arrays. A barrier precedes every command: each sees what all earlier
// ones have written.
class Commands {
 public:
  explicit Commands(Context& context) : context_(context), lock_(context.mutex_) {}

  // Runs `groups` work groups of a kernel with these specialisation constants. The first binding of every
  // kernel is its parameters. A large number of work groups is divided over several dispatches of at most
  // `most_at_once`, so that a desktop's watchdog does not mistake a long one for a hang.
  template <class Parameters>
  void run(const std::string& shader, std::span<const std::uint32_t> constants, const Parameters& parameters,
           std::span<const Binding> bindings, std::size_t groups, std::size_t most_at_once = kMostGroups) {
    run_bytes(shader, constants, std::as_bytes(std::span(&parameters, 1)), bindings, groups, most_at_once);
  }
  // The same with a number of work groups that the device has computed: `arguments` holds a
  // VkDispatchIndirectCommand at this offset, or one for each of `count` dispatches of `most_at_once` groups.
  template <class Parameters>
  void run_indirect(const std::string& shader, std::span<const std::uint32_t> constants,
                    const Parameters& parameters, std::span<const Binding> bindings,
                    const VulkanMemory& arguments, std::size_t offset, std::size_t count = 1,
                    std::size_t most_at_once = kMostGroups) {
    run_indirect_bytes(shader, constants, std::as_bytes(std::span(&parameters, 1)), bindings, arguments,
                       offset, count, most_at_once);
  }

  void upload(std::span<const std::byte> from, const VulkanMemory& to, std::size_t offset = 0);
  void fill_zero(const VulkanMemory& memory, std::size_t offset, std::size_t bytes);
  void copy(const VulkanMemory& from, const VulkanMemory& to, std::size_t bytes);
  void reset_timestamps(VkQueryPool pool, std::uint32_t count);
  void write_timestamp(VkQueryPool pool, std::uint32_t index);

  // Submits everything recorded so far, waits for it, and copies part of an array to the host.
  void download(const VulkanMemory& from, std::size_t offset, std::span<std::byte> to);

  void start() { context_.submit(); }         // submits everything recorded so far
  void finish() { context_.wait_for_all(); }  // submits everything recorded so far, and waits for it

  VkDevice device() const { return context_.device_; }

  static constexpr std::size_t kMostGroups = 65535;  // every device can run as many at once

 private:
  void run_bytes(const std::string& shader, std::span<const std::uint32_t> constants,
                 std::span<const std::byte> parameters, std::span<const Binding> bindings, std::size_t groups,
                 std::size_t most_at_once);
  void run_indirect_bytes(const std::string& shader, std::span<const std::uint32_t> constants,
                          std::span<const std::byte> parameters, std::span<const Binding> bindings,
                          const VulkanMemory& arguments, std::size_t offset, std::size_t count,
                          std::size_t most_at_once);
  const Kernel& prepare(const std::string& shader, std::span<const std::uint32_t> constants,
                        std::span<const std::byte> parameters, std::span<const Binding> bindings);
  void barrier();
  void barrier_for_validation();

  Context& context_;
  std::lock_guard<std::recursive_mutex> lock_;
};

}  // namespace stipple::vulkan
