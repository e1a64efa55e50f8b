// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels of this build in SPIR-V, compiled from the .comp files by glslc.
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace stipple::vulkan {

struct Shader {
  std::string_view name;
  std::span<const std::uint32_t> words;
};

std::span<const Shader> all_shaders();             // sorted by name
const Shader& find_shader(std::string_view name);  // throws std::out_of_range

// The shader as drivers for real Vulkan devices get it: every arithmetic instruction is decorated with
// NoContraction, so that all kernels round in the same way. Kernels that repeat a computation of another one
// depend on it: emit repeats project's search for tiles, blend_backward repeats blend, and
// project_backward_optimize combines two stages.
std::vector<std::uint32_t> without_contraction(std::span<const std::uint32_t> words);

std::uint32_t binding_count(std::span<const std::uint32_t> words);  // the largest binding, plus 1

}  // namespace stipple::vulkan
