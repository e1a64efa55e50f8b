// SPDX-License-Identifier: Apache-2.0
// blend_channels_backward, last step of a group: adds the group's gradients to those of the splats, except for their
// channels, and stores those of the group's channels; one thread per Gaussian. Those that are not shown keep their zeros.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint count;
  uint stride;
  uint first;
  uint block_count;
  uint row_capacity;
};
READ_SPLIT(float, group_gradient, 1, WORD_SHIFT)
SPLIT_ARRAY(, float, dL_dsplat, 5)
SPLIT_LOAD(float, dL_dsplat, WORD_SHIFT)
SPLIT_STORE(float, dL_dsplat, WORD_SHIFT)
WRITE_SPLIT(float, dL_dchannels, 9, WORD_SHIFT)
layout(std430, binding = 13) readonly buffer Visible { uvec2 visible[]; };
#include "stipple/backend/vulkan/shared/visible_row.glsl"

void main() {
  uint i = group_index() * 256u + gl_LocalInvocationIndex;
  if (i >= count || !has_row(i, block_count, row_capacity)) return;
  uint at = 10u * row_of(i);
  [[unroll]] for (uint f = 0u; f < 6u; ++f)
    store_dL_dsplat(at + f, load_dL_dsplat(at + f) + load_group_gradient(at + f));
  for (uint k = 0u; k < 4u && first + k < stride; ++k)
    store_dL_dchannels(i * stride + first + k, load_group_gradient(at + 6u + k));
}
