// SPDX-License-Identifier: Apache-2.0
// Prefix sum, second step: the sums of the blocks, scanned by one work group.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/scan_source.glsl"
#include "stipple/backend/vulkan/shared/group_scan.glsl"

layout(local_size_x = 256) in;

void main() {
  uint before = 0u;
  for (uint first = 0u; first < block_count(); first += 256u) {
    uint block = first + thread_index();
    uint total;
    uint sum = exclusive_scan(block < block_count() ? block_sum[block] : 0u, total);
    if (block < block_count()) block_sum[block] = before + sum;
    before += total;
  }
}
