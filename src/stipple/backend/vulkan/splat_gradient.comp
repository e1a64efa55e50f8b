// SPDX-License-Identifier: Apache-2.0
// blend_backward, last step where the splats' gradients are wanted: from the sums to the gradients; one thread per
// splat. With in_fixed_order, the sums are those of the slots, and a splat adds up its own in order of its pairs.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"
#include "stipple/backend/vulkan/shared/splat_sums.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 2) const bool in_fixed_order = false;
layout(constant_id = 3) const bool has_absolute = false;
layout(std430, binding = 0) readonly buffer Parameters {
  uint first_splat;  // of the window: the outputs and the pairs of splats start there
  uint count;
  uint capacity;  // of all splats
};
READ_SPLIT(vec4, splat, 1, VECTOR_SHIFT)
SPLIT_ARRAY(, float, sum, 5)
SPLIT_LOAD(float, sum, WORD_SHIFT)
SPLIT_STORE(float, sum, WORD_SHIFT)
layout(std430, binding = 9) readonly buffer PairRanges { uvec2 pairs_from_splat[]; };
READ_SPLIT(uint, slot_from_pair, 10, WORD_SHIFT)
layout(std430, binding = 14) writeonly buffer Gradients { float dL_dsplat[]; };
layout(std430, binding = 15) writeonly buffer Absolute { vec2 absolute[]; };
layout(std430, binding = 16) buffer Status { uint status[]; };

void main() {
  uint i = group_index() * 64u + gl_LocalInvocationIndex;
  uint row = first_splat + i;
  // project has written no rows if there was not room for all of them.
  if (i >= count || status[kSplats] > capacity || row >= status[kSplats]) return;
  float sums[kSumFields];
  [[unroll]] for (uint f = 0u; f < kSumFields; ++f) sums[f] = 0.0;
  vec4 b = load_splat(4u * row + 1u);
  bool is_seen = b.y > 0.0;
  if (in_fixed_order) {
    if (is_seen && status[kHasOverflowed] == 0u) {
      uvec2 pairs = pairs_from_splat[i];
      for (uint pair = pairs.x; pair < pairs.y; ++pair) {
        uint slot = load_slot_from_pair(pair);
        [[unroll]] for (uint f = 0u; f < kSumFields; ++f) sums[f] += load_sum(slot * kSumFields + f);
      }
    }
  } else if (is_seen) {
    [[unroll]] for (uint f = 0u; f < kSumFields; ++f) {
      sums[f] = load_sum(row * kSumFields + f);
      store_sum(row * kSumFields + f, 0.0);  // the next pass expects zeros
    }
  }
  float g[10];
  [[unroll]] for (uint f = 0u; f < 10u; ++f) g[f] = 0.0;
  if (is_seen) {
    Splat s = splat_gradient(vec3(load_splat(4u * row).zw, b.x), b.y, moments_of(sums));
    g = float[10](s.mean_px.x, s.mean_px.y, s.conic.x, s.conic.y, s.conic.z, s.opacity, s.channels.x, s.channels.y,
                  s.channels.z, s.channels.w);
  }
  [[unroll]] for (uint f = 0u; f < 10u; ++f) {
    if (!is_finite(g[f])) status[kIsBad] = 1u;
    dL_dsplat[10u * i + f] = g[f];
  }
  if (has_absolute) absolute[i] = vec2(sums[kSumAbsolute], sums[kSumAbsolute + 1u]);
}
