// SPDX-License-Identifier: Apache-2.0
// perturb: adds noise that moves faint Gaussians. Kheradmand et al., "3D Gaussian Splatting as Markov Chain Monte
// Carlo", 2024.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/update.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint first_gaussian;  // of the window, in the whole model
  uint count;
  float amount;
  uint seed_low;
  uint seed_high;
  uint view_count;
};
layout(std430, binding = 1) buffer Means { float mean[]; };
layout(std430, binding = 2) readonly buffer LogScales { float log_scale[]; };
layout(std430, binding = 3) readonly buffer Rotations { vec4 rotation[]; };
layout(std430, binding = 4) readonly buffer Opacities { float logit_opacity[]; };
layout(std430, binding = 5) readonly buffer Status { uint status[]; };
DEFINE_MAY_UPDATE(status)

void main() {
  uint i = group_index() * 256u + gl_LocalInvocationIndex;
  if (i >= count || !may_update(view_count)) return;
  vec3 moved = perturbed_mean(vec3(mean[3u * i], mean[3u * i + 1u], mean[3u * i + 2u]),
                              vec3(log_scale[3u * i], log_scale[3u * i + 1u], log_scale[3u * i + 2u]), rotation[i],
                              logit_opacity[i], amount, first_gaussian + i, seed_low, seed_high);
  [[unroll]] for (uint c = 0u; c < 3u; ++c) mean[3u * i + c] = moved[c];
}
