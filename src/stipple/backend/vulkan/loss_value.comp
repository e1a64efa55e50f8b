// SPDX-License-Identifier: Apache-2.0
// loss, last step: adds up the groups' sums, always in the same order.
#version 460
#define GROUP_THREADS 256
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/group_sum.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint count;  // of sums
  float pixel_count;
  float l1_weight;
  float ssim_weight;
};
layout(std430, binding = 1) readonly buffer GroupSums { vec4 group_sum[]; };
layout(std430, binding = 2) buffer Status { uint status[]; };

void main() {
  vec4 mine = vec4(0.0);
  for (uint i = gl_LocalInvocationIndex; i < count; i += 256u) mine += group_sum[i];
  vec4 sum = sum_over_group(mine) / pixel_count;
  if (gl_LocalInvocationIndex != 0u) return;
  float total = l1_weight * sum.y + ssim_weight * (1.0 - sum.x);
  status[kLossTotal] = floatBitsToUint(total);
  status[kLossSquares] = floatBitsToUint(sum.z);
  if (!is_finite(total)) status[kIsBad] = 1u;
}
