// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/runtime/shader.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace stipple::vulkan {

namespace {

// From the SPIR-V specification, sections 2.3 and 3.42.
constexpr std::size_t kHeaderWords = 5;
enum Op : std::uint32_t {
  kDecorate = 71,
  kFNegate = 127,
  kFAdd = 129,
  kFSub = 131,
  kFMul = 133,
  kFDiv = 136,
  kFRem = 140,
  kFMod = 141,
  kVectorTimesScalar = 142,
  kDot = 148,
};
constexpr std::uint32_t kBinding = 33, kNoContraction = 42;

// Calls f(opcode, words of the instruction) for every instruction.
template <class F>
void for_each_instruction(std::span<const std::uint32_t> words, F f) {
  for (std::size_t at = kHeaderWords; at < words.size();) {
    const std::size_t count = words[at] >> 16;
    f(words[at] & 0xffff, words.subspan(at, count));
    at += count;
  }
}

bool is_arithmetic(std::uint32_t op) {
  return op == kFNegate || op == kFAdd || op == kFSub || op == kFMul || op == kFDiv || op == kFRem ||
         op == kFMod || (op >= kVectorTimesScalar && op <= kDot);
}

// Instructions up to here must stay in front of the decorations: capabilities, imports, entry points, names.
bool is_before_decorations(std::uint32_t op) {
  return op <= 8 || op == 10 || op == 11 || (op >= 14 && op <= 17) || op == 330 || op == 331;
}

}  // namespace

std::vector<std::uint32_t> without_contraction(std::span<const std::uint32_t> words) {
  std::vector<std::uint32_t> decorations;
  for_each_instruction(words, [&](std::uint32_t op, std::span<const std::uint32_t> instruction) {
    if (!is_arithmetic(op)) return;
    decorations.insert(decorations.end(), {3u << 16 | kDecorate, instruction[2], kNoContraction});
  });
  std::vector<std::uint32_t> result(words.begin(), words.begin() + kHeaderWords);
  bool is_decorated = false;
  for_each_instruction(words, [&](std::uint32_t op, std::span<const std::uint32_t> instruction) {
    if (!is_decorated && !is_before_decorations(op)) {
      result.insert(result.end(), decorations.begin(), decorations.end());
      is_decorated = true;
    }
    result.insert(result.end(), instruction.begin(), instruction.end());
  });
  return result;
}

std::uint32_t binding_count(std::span<const std::uint32_t> words) {
  std::uint32_t count = 0;
  for_each_instruction(words, [&](std::uint32_t op, std::span<const std::uint32_t> instruction) {
    if (op == kDecorate && instruction[2] == kBinding) count = std::max(count, instruction[3] + 1);
  });
  return count;
}

const Shader& find_shader(std::string_view name) {
  const std::span<const Shader> all = all_shaders();
  const auto found = std::ranges::lower_bound(all, name, {}, &Shader::name);
  if (found == all.end() || found->name != name) throw std::out_of_range("no shader " + std::string(name));
  return *found;
}

}  // namespace stipple::vulkan
