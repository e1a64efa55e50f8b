// SPDX-License-Identifier: Apache-2.0
// gather: copies rows of an array, or a part of each, in a given order. Rows and parts are numbers of halves, words of 16
// bits. One thread per word of 32 bits: where all numbers are even, per word that is copied, and otherwise per word of the
// target, of which it keeps what is not copied.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const bool is_even = true;
layout(std430, binding = 0) readonly buffer Parameters {
  uint row_count;  // of the window
  uint halves;     // of each row
  uint from_first, from_row_halves;
  uint to_first, to_row_halves;
  uint has_rows;  // 0: the rows are in order
};
layout(std430, binding = 1) readonly buffer Rows { uint rows[]; };
layout(std430, binding = 2) buffer Targets { uint target[]; };
READ_SPLIT(uint, from, 3, WORD_SHIFT)

const uint kNoRow = 0xffffffffu;

// The row of the source for a row of the target.
uint source_row(uint i) { return has_rows != 0u ? rows[i] : i; }
bool is_zero(uint row) { return has_rows != 0u && row == kNoRow; }

// The half at `at` of the target.
uint half_for(uint at) {
  uint i = at / to_row_halves, place = at % to_row_halves;
  if (place < to_first || place >= to_first + halves || i >= row_count)
    return bitfieldExtract(target[at / 2u], int(16u * (at % 2u)), 16);
  uint row = source_row(i);
  if (is_zero(row)) return 0u;
  uint source = from_first + row * from_row_halves + (place - to_first);
  return bitfieldExtract(load_from(source / 2u), int(16u * (source % 2u)), 16);
}

void main() {
  uint at = group_index() * 256u + gl_LocalInvocationIndex;
  if (is_even) {
    uint words = halves / 2u;
    if (at >= row_count * words) return;
    uint i = at / words, word = at % words, row = source_row(i);
    target[(to_first + i * to_row_halves) / 2u + word] =
        is_zero(row) ? 0u : load_from((from_first + row * from_row_halves) / 2u + word);
  } else if (2u * at < row_count * to_row_halves) {
    target[at] = half_for(2u * at) | half_for(2u * at + 1u) << 16;
  }
}
