// SPDX-License-Identifier: Apache-2.0
// Writes 0, 1, 2 and so on: the numbers of the pairs.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters { uint unused; };
layout(std430, binding = 1) readonly buffer Plan { uint plan[]; };
WRITE_SPLIT(uint, number, 2, WORD_SHIFT)

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < plan[kPlanPairs]; i += 256u * gl_NumWorkGroups.x) store_number(i, i);
}
