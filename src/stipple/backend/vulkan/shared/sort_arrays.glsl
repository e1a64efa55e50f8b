// SPDX-License-Identifier: Apache-2.0
// The arrays of one pass of a radix sort on eight bits: `counter` holds, for each value of these bits, the number of
// such keys in each block.
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(std430, binding = 0) readonly buffer Parameters {
  uint shift;        // the lowest of the bits
  uint bit_count;    // at most eight
  uint sorts_pairs;  // otherwise Gaussians
};
layout(std430, binding = 1) readonly buffer Plan { uint plan[]; };
layout(std430, binding = 2) buffer Counters { uint counter[]; };
READ_SPLIT(uint, key, 3, WORD_SHIFT)

uint key_count() { return plan[sorts_pairs != 0u ? kPlanPairs : kPlanGaussians]; }
uint block_count() { return (key_count() + kSortBlock - 1u) / kSortBlock; }
uint digit_of(uint k) { return k >> shift & ((1u << bit_count) - 1u); }
