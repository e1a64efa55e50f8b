// SPDX-License-Identifier: Apache-2.0
// depth_loss: the gradient of the frame's error at the pixels whose depth is known. No two samples share a pixel, so
// that no addition needs to be atomic.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint count;
  float dL_derror;
};
layout(std430, binding = 1) readonly buffer Samples { uvec2 samples[]; };  // pixel and inverse depth
layout(std430, binding = 2) readonly buffer Depths { float inverse_depth[]; };
layout(std430, binding = 3) readonly buffer Transmittances { float transmittance[]; };
layout(std430, binding = 4) buffer DepthGradients { float dL_ddepth[]; };
layout(std430, binding = 5) buffer AlphaGradients { float dL_dalpha[]; };

void main() {
  uint i = group_index() * 256u + gl_LocalInvocationIndex;
  if (i >= count) return;
  uint pixel = samples[i].x;
  DepthPixel p;
  p.inverse_depth = inverse_depth[pixel];
  p.alpha = 1.0 - transmittance[pixel];
  DepthPixel d = depth_error_vjp(p, uintBitsToFloat(samples[i].y), dL_derror);
  dL_ddepth[pixel] += d.inverse_depth;
  dL_dalpha[pixel] += d.alpha;
}
