// SPDX-License-Identifier: Apache-2.0
// project, first step: which Gaussians are shown; one thread per Gaussian.
#version 460
#define PARAMETER_ACCESS readonly
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/view.glsl"
#include "stipple/backend/vulkan/shared/gaussian.glsl"
#include "stipple/backend/vulkan/shared/footprint.glsl"

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Parameters { VIEW_PARAMETERS };
layout(std430, binding = 9) writeonly buffer Visible { uvec2 visible[]; };
DEFINE_VIEW_FUNCTIONS
DEFINE_FOOTPRINT

shared uint mask[2];

void main() {
  uint thread = gl_LocalInvocationIndex;
  uint first = group_index() * 64u;
  if (thread < 2u) mask[thread] = 0u;
  barrier();
  vec3 unused;
  if (first + thread < count && footprint_of_gaussian(first + thread, unused).opacity > 0.0)
    atomicOr(mask[thread / 32u], 1u << (thread % 32u));
  barrier();
  if (thread < 2u && first + 32u * thread < count) visible[(first_gaussian + first) / 32u + thread].x = mask[thread];
}
