// SPDX-License-Identifier: Apache-2.0
// The arguments of blend_backward's dispatches: one work group for each tile, and one for each chunk.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"

layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint tile_count;
  uint dispatch_count;
  uint most_at_once;  // groups of a dispatch
};
layout(std430, binding = 1) readonly buffer ChunkCount { uint chunk_count; };
layout(std430, binding = 2) writeonly buffer Arguments { uint arguments[]; };

void main() {
  uint groups = tile_count + chunk_count;
  for (uint i = 0u; i < dispatch_count; ++i) {
    uint first = i * most_at_once;
    arguments[3u * i] = groups > first ? min(groups - first, most_at_once) : 0u;
    arguments[3u * i + 1u] = 1u;
    arguments[3u * i + 2u] = 1u;
  }
}
