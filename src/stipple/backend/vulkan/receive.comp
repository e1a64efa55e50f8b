// SPDX-License-Identifier: Apache-2.0
// receive: what bin needs of splats that other ranks have projected; one thread per splat.
#version 460
#define PARAMETER_ACCESS readonly
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/view.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/tile_search.glsl"

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Parameters { VIEW_PARAMETERS };
layout(std430, binding = 1) readonly buffer Splats { vec4 splat[]; };
layout(std430, binding = 2) writeonly buffer TileCounts { uint tile_count[]; };
layout(std430, binding = 3) writeonly buffer DepthKeys { uint depth_key[]; };
layout(std430, binding = 4) buffer Status { uint status[]; };
#include "stipple/backend/vulkan/shared/tile_totals.glsl"

void main() {
  uint thread = gl_LocalInvocationIndex;
  uint i = group_index() * 64u + thread;
  begin_totals(thread);
  barrier();
  if (i < count) {
    if (i == 0u) atomicAdd(status[kSplats], count);
    vec4 last = splat[4 * i + 3];
    Footprint f = footprint_of(splat[4 * i], splat[4 * i + 1], splat[4 * i + 2], last);
    uint tiles = f.opacity > 0.0 ? count_tiles(f, last.y) : 0u;
    add_to_totals(tiles);
    tile_count[i] = tiles;
    depth_key[i] = depth_key_of(tiles, f.depth);
  }
  barrier();
  finish_totals(thread);
}
