// SPDX-License-Identifier: Apache-2.0
// blend_channels_backward, last step of a group: adds the group's gradients to those of the splats, except for their
// channels, and stores those of the group's channels.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint count;
  uint stride;
  uint first;
};
READ_SPLIT(float, group_gradient, 1, WORD_SHIFT)
SPLIT_ARRAY(, float, dL_dsplat, 5)
SPLIT_LOAD(float, dL_dsplat, WORD_SHIFT)
SPLIT_STORE(float, dL_dsplat, WORD_SHIFT)
WRITE_SPLIT(float, dL_dchannels, 9, WORD_SHIFT)

void main() {
  uint i = group_index() * 256u + gl_LocalInvocationIndex;
  if (i >= count) return;
  [[unroll]] for (uint f = 0u; f < 6u; ++f)
    store_dL_dsplat(10u * i + f, load_dL_dsplat(10u * i + f) + load_group_gradient(10u * i + f));
  for (uint k = 0u; k < 4u && first + k < stride; ++k)
    store_dL_dchannels(i * stride + first + k, load_group_gradient(10u * i + 6u + k));
}
