// SPDX-License-Identifier: Apache-2.0
// Evaluates every function of the maths on given inputs, for comparison with C++.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 2) const uint section = 0;
layout(std430, binding = 0) readonly buffer Parameters {
  uint case_count;
  uint inputs_each;
  uint results_each;
};
layout(std430, binding = 1) readonly buffer Inputs { uint inputs[]; };
layout(std430, binding = 2) writeonly buffer Results { uint results[]; };

uint next_input;
uint next_result;
uint take_word() { return inputs[next_input++]; }
void give_word(uint word) { results[next_result++] = word; }
#include "stream.glsl"
#include "every_function.glsl"

void main() {
  uint i = group_index() * 64u + gl_LocalInvocationIndex;
  if (i >= case_count) return;
  next_input = i * inputs_each;
  next_result = i * results_each;
  evaluate(section);
}
