// SPDX-License-Identifier: Apache-2.0
// Prefix sum, first step: the sum of every block.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/scan_source.glsl"
#include "stipple/backend/vulkan/shared/group_scan.glsl"

layout(local_size_x = 256) in;

void main() {
  for (uint block = gl_WorkGroupID.x; block < block_count(); block += gl_NumWorkGroups.x) {
    uint mine = 0u;
    [[unroll]] for (uint k = 0u; k < 4u; ++k) mine += item(block * kScanBlock + 256u * k + thread_index());
    uint total;
    exclusive_scan(mine, total);
    if (gl_LocalInvocationIndex == 0u) block_sum[block] = total;
  }
}
