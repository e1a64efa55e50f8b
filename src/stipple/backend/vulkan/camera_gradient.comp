// SPDX-License-Identifier: Apache-2.0
// project_backward, last step where the camera's gradient is wanted: adds up the groups' sums, always in the same order.
#version 460
#define GROUP_THREADS 256
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/group_sum.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters { uint count; };
layout(std430, binding = 1) readonly buffer CameraSums { vec4 camera_sum[]; };
layout(std430, binding = 2) buffer Status { uint status[]; };

void main() {
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    vec4 mine = vec4(0.0);
    for (uint i = gl_LocalInvocationIndex; i < count; i += 256u) mine += camera_sum[4u * i + k];
    vec4 sum = sum_over_group(mine);
    if (gl_LocalInvocationIndex == 0u)
      [[unroll]] for (uint c = 0u; c < 4u; ++c) status[kCamera + 4u * k + c] = floatBitsToUint(sum[c]);
  }
}
