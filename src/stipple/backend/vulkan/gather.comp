// SPDX-License-Identifier: Apache-2.0
// gather: copies rows of an array in a given order, one thread per word.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(local_size_x = 256) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint row_count;  // of the window
  uint row_words;
};
layout(std430, binding = 1) readonly buffer Rows { uint rows[]; };
layout(std430, binding = 2) writeonly buffer Targets { uint target[]; };
READ_SPLIT(uint, from, 3, WORD_SHIFT)

void main() {
  uint at = group_index() * 256u + gl_LocalInvocationIndex;
  if (at >= row_count * row_words) return;
  uint row = rows[at / row_words];
  target[at] = row == 0xffffffffu ? 0u : load_from(row * row_words + at % row_words);
}
