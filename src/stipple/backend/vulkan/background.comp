// SPDX-License-Identifier: Apache-2.0
// The gradient of the background: the sum over pixels of dL_dcolor * transmittance; one work group, since it is rarely
// wanted.
#version 460
#define GROUP_THREADS 256
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/group_sum.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters { uint plane; };
layout(std430, binding = 1) readonly buffer Gradients { float dL_dcolor[]; };
layout(std430, binding = 2) readonly buffer Transmittances { float transmittance[]; };
layout(std430, binding = 3) buffer Status { uint status[]; };

void main() {
  vec3 sum = vec3(0.0);
  vec3 lost = vec3(0.0);  // what rounding has lost of the sum so far (Kahan)
  for (uint i = gl_LocalInvocationIndex; i < plane; i += 256u) {
    vec3 term = vec3(dL_dcolor[i], dL_dcolor[plane + i], dL_dcolor[2u * plane + i]) * transmittance[i] - lost;
    vec3 next = sum + term;
    lost = (next - sum) - term;
    sum = next;
  }
  vec4 total = sum_over_group(vec4(sum, 0.0));
  if (gl_LocalInvocationIndex == 0u)
    [[unroll]] for (uint c = 0u; c < 3u; ++c) status[kBackground + c] = floatBitsToUint(total[c]);
}
