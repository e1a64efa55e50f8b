// SPDX-License-Identifier: Apache-2.0
// blend_channels, first step: four channels of each Gaussian that is shown, as a vector in its row; zero past the last.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint count;   // of Gaussians
  uint stride;  // channels of a Gaussian
  uint first;   // channel of the group
  uint block_count;
  uint row_capacity;
};
READ_SPLIT(float, value, 1, WORD_SHIFT)
layout(std430, binding = 5) writeonly buffer Group { vec4 group_channels[]; };
layout(std430, binding = 6) readonly buffer Visible { uvec2 visible[]; };
#include "stipple/backend/vulkan/shared/visible_row.glsl"

void main() {
  uint i = group_index() * 256u + gl_LocalInvocationIndex;
  if (i >= count || !has_row(i, block_count, row_capacity)) return;
  vec4 channels = vec4(0.0);
  for (uint k = 0u; k < 4u && first + k < stride; ++k) channels[k] = load_value(i * stride + first + k);
  group_channels[row_of(i)] = channels;
}
