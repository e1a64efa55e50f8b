// SPDX-License-Identifier: Apache-2.0
// bin, last step: where each tile's slots begin and, if pair numbers were sorted, which Gaussian each slot holds.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const bool in_fixed_order = false;
layout(std430, binding = 0) readonly buffer Parameters { uint tile_count; };
layout(std430, binding = 1) readonly buffer Plan { uint plan[]; };
layout(std430, binding = 2) writeonly buffer SlotBegins { uint slot_begin[]; };
READ_SPLIT(uint, tile, 3, WORD_SHIFT)
READ_SPLIT(uint, pair_from_slot, 7, WORD_SHIFT)
READ_SPLIT(uint, splat_from_pair, 11, WORD_SHIFT)
WRITE_SPLIT(uint, splat_from_slot, 15, WORD_SHIFT)
WRITE_SPLIT(uint, slot_from_pair, 19, WORD_SHIFT)

void main() {
  uint pairs = plan[kPlanPairs];
  for (uint i = gl_GlobalInvocationID.x; i < pairs; i += 256u * gl_NumWorkGroups.x) {
    uint mine = load_tile(i);
    uint first_tile = i == 0u ? 0u : load_tile(i - 1u) + 1u;
    for (uint t = first_tile; t <= mine; ++t) slot_begin[t] = i;
    if (i + 1u == pairs)
      for (uint t = mine + 1u; t <= tile_count; ++t) slot_begin[t] = pairs;
    if (in_fixed_order) {
      uint pair = load_pair_from_slot(i);
      store_splat_from_slot(i, load_splat_from_pair(pair));
      store_slot_from_pair(pair, i);
    }
  }
}
