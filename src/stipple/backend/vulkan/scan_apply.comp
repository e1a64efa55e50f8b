// SPDX-License-Identifier: Apache-2.0
// Prefix sum, third step: every item's sum, and what is done with it.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/scan_source.glsl"
#include "stipple/backend/vulkan/shared/group_scan.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 6) readonly buffer DepthKeys { uint depth_key[]; };
layout(std430, binding = 7) writeonly buffer SortKeys { uint sort_key[]; };
layout(std430, binding = 8) writeonly buffer SortValues { uint sort_value[]; };

void apply(uint i, uint value, uint before) {
  if (what == kRows) {
    counter[2u * i + 1u] = before;
  } else if (what == kTouching) {
    if (value == 0u) return;
    sort_key[before] = depth_key[i];
    sort_value[before] = i;
  } else {
    counter[i] = before;
  }
}

void main() {
  for (uint block = gl_WorkGroupID.x; block < block_count(); block += gl_NumWorkGroups.x) {
    uint first = block * kScanBlock + 4u * thread_index();
    uvec4 value = uvec4(item(first), item(first + 1u), item(first + 2u), item(first + 3u));
    uint total;
    uint before = block_sum[block] + exclusive_scan(value.x + value.y + value.z + value.w, total);
    [[unroll]] for (uint k = 0u; k < 4u; ++k) {
      if (first + k < item_count()) apply(first + k, value[k], before);
      before += value[k];
    }
  }
}
