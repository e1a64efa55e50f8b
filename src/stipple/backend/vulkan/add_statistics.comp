// SPDX-License-Identifier: Apache-2.0
// optimize, last step: adds the statistics of the step's views to those of the training.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/update.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint count;
  uint view_count;
};
layout(std430, binding = 1) readonly buffer ViewStatistics { vec2 view_statistics[]; };
layout(std430, binding = 2) buffer Statistics { vec2 statistics[]; };
layout(std430, binding = 3) readonly buffer Status { uint status[]; };
DEFINE_MAY_UPDATE(status)

void main() {
  uint i = group_index() * 256u + gl_LocalInvocationIndex;
  if (i < count && may_update(view_count)) statistics[i] = statistics[i] + view_statistics[i];
}
