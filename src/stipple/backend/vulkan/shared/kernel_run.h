// SPDX-License-Identifier: Apache-2.0
#pragma once
// Collects the bindings and specialisation constants of one run of a kernel.
#include <string>
#include <vector>

#include "stipple/backend/vulkan/runtime/context.h"

namespace stipple::vulkan {

inline const VulkanMemory* memory_of(const Memory* memory) {
  return static_cast<const VulkanMemory*>(memory);
}

class KernelRun {
 public:
  KernelRun(Context& context, std::string shader) : context_(context), shader_(std::move(shader)) {}

  KernelRun& constants(const std::vector<std::uint32_t>& values) {
    for (const std::uint32_t value : values) constants_.push_back(value);
    return *this;
  }

  // Bindings, in the order of their numbers. An empty array is one that the kernel does not touch.
  KernelRun& bind(const Binding& binding) {
    bindings_.push_back(binding);
    return *this;
  }
  template <class T>
  KernelRun& bind(const DeviceArray<T>& array) {
    return array.empty() ? bind(Binding{}) : bind_whole(*memory_of(array.memory()), array.size() * sizeof(T));
  }
  template <class T>
  KernelRun& bind(const DeviceArray<T>* array) {
    return array ? bind(*array) : bind(Binding{});
  }
  // Elements [first, first + count) of an array, and the rest of the last word: kernels see whole words, of
  // which memory always has enough.
  template <class T>
  KernelRun& window(const DeviceArray<T>& array, std::size_t first, std::size_t count) {
    if (array.empty()) return bind(Binding{});
    return window(*memory_of(array.memory()), first * sizeof(T), count * sizeof(T));
  }
  KernelRun& window(const VulkanMemory& memory, std::size_t offset, std::size_t bytes) {
    return bind(Binding{&memory, offset, (bytes + 3) / 4 * 4});
  }
  // The four bindings of a split array (shared/split_array.glsl).
  template <class T>
  KernelRun& split(const DeviceArray<T>& array) {
    return split(array.empty() ? nullptr : memory_of(array.memory()), array.size() * sizeof(T));
  }
  KernelRun& split(const VulkanMemory* memory, std::size_t bytes);

  template <class Parameters>
  void run(const Parameters& parameters, std::size_t groups,
           std::size_t most_at_once = Commands::kMostGroups) {
    Commands(context_).run(shader_, finished_constants(), parameters, bindings_, groups, most_at_once);
  }
  template <class Parameters>
  void run_indirect(const Parameters& parameters, const DeviceArray<std::uint32_t>& arguments,
                    std::size_t first_word, std::size_t count = 1,
                    std::size_t most_at_once = Commands::kMostGroups) {
    Commands(context_).run_indirect(shader_, finished_constants(), parameters, bindings_,
                                    *memory_of(arguments.memory()), first_word * sizeof(std::uint32_t), count,
                                    most_at_once);
  }

 private:
  KernelRun& bind_whole(const VulkanMemory& memory, std::size_t bytes);
  std::vector<std::uint32_t> finished_constants() const;

  Context& context_;
  std::string shader_;
  std::vector<std::uint32_t> constants_;
  std::vector<Binding> bindings_;
  bool is_split_ = false;
};

inline std::size_t groups_for(std::size_t items, std::size_t threads) {
  return (items + threads - 1) / threads;
}

}  // namespace stipple::vulkan
