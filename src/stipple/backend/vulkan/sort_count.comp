// SPDX-License-Identifier: Apache-2.0
// Radix sort, first step of a pass: counts the keys of every block by their digit.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/sort_arrays.glsl"

layout(local_size_x = 256) in;
shared uint count_from_digit[256];

void main() {
  uint thread = gl_LocalInvocationIndex;
  for (uint block = gl_WorkGroupID.x; block < block_count(); block += gl_NumWorkGroups.x) {
    barrier();
    count_from_digit[thread] = 0u;
    barrier();
    for (uint k = 0u; k < kSortBlock / 256u; ++k) {
      uint i = block * kSortBlock + 256u * k + thread;
      if (i < key_count()) atomicAdd(count_from_digit[digit_of(load_key(i))], 1u);
    }
    barrier();
    counter[thread * block_count() + block] = count_from_digit[thread];
  }
}
