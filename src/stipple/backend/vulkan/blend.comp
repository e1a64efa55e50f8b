// SPDX-License-Identifier: Apache-2.0
// blend: blends the splats of each tile, nearest first, into its pixels; one work group per tile.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/tile.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 2) const bool has_fourth = false;  // the depth, or a fourth channel
layout(constant_id = 3) const bool is_given = false;    // channels are given instead of the splats' own
layout(constant_id = 4) const bool stores_chunks = true;
layout(std430, binding = 0) readonly buffer Parameters {
  float background[3];
  float log2_alpha_max;
  uint columns;
  uint first_row;
  uint width;
  uint height;
  uint channel_count;  // given
  uint first_plane;    // of the given channels, in `planes`
  uint writes_planes;
};
layout(std430, binding = 11) writeonly buffer Planes { float planes[]; };
layout(std430, binding = 12) writeonly buffer Fourth { float fourth[]; };
layout(std430, binding = 13) writeonly buffer Transmittances { float transmittance[]; };
layout(std430, binding = 14) writeonly buffer SlotEnds { uint slot_end[]; };
layout(std430, binding = 15) writeonly buffer Chunks { uvec2 chunks[]; };
layout(std430, binding = 16) buffer ChunkCount { uint chunk_count; };
WRITE_SPLIT(float, checkpoint, 17, WORD_SHIFT)

const uint kFields = has_fourth ? 5 : 4;  // of a checkpoint

shared uint shared_chunk;

struct PixelState {
  float front;          // transmittance in front of the next splat; 0 when finished
  float transmittance;  // the last nonzero value of `front`
  vec4 channels;
};

void store_checkpoint(uint chunk, uint thread, PixelState state[4]) {
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    uint at = chunk * kFields * kTilePixels + 64u * k + thread;
    store_checkpoint(at, state[k].front > 0.0 ? state[k].front : -state[k].transmittance);
    for (uint c = 0u; c + 1u < kFields; ++c) store_checkpoint(at + (1u + c) * kTilePixels, state[k].channels[c]);
  }
}

void store_pixel(uint at, PixelState p) {
  uint plane = width * height;
  if (is_given) {
    if (writes_planes != 0u)
      for (uint c = 0u; c < channel_count; ++c) planes[(first_plane + c) * plane + at] = p.channels[c];
    return;
  }
  transmittance[at] = p.transmittance;
  [[unroll]] for (uint c = 0u; c < 3u; ++c) planes[c * plane + at] = p.channels[c] + p.transmittance * background[c];
  if (has_fourth) fourth[at] = p.channels.w;
}

void stage_slot(uint slot, uint thread, uint live, vec2 tile_px) {
  StagedSplat s = stage_splat(load_splat_from_slot(slot), is_given, log2_alpha_max, tile_px);
  s.quadrants &= live;
  store_staged(thread, s);
}

void main() {
  uint thread = gl_LocalInvocationIndex;
  uint tile = group_index();
  TilePlace place = tile_place(tile, thread, columns, first_row, width, height);
  PixelState state[4];
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    state[k].front = place.is_inside[k] ? 1.0 : 0.0;
    state[k].transmittance = 1.0;
    state[k].channels = vec4(0.0);
  }
  uint begin = slot_begin[tile];
  uint end = slot_begin[tile + 1u];
  uint batch = begin;
  for (; batch < end; batch += kTileThreads) {
    uint live = find_live_quadrants(vec4(state[0].front, state[1].front, state[2].front, state[3].front));
    if (live == 0u) break;
    bool begins_chunk = stores_chunks && batch > begin && (batch - begin) % kChunk == 0u;
    if (begins_chunk && thread == 0u) {
      shared_chunk = atomicAdd(chunk_count, 1u);
      chunks[shared_chunk] = uvec2(tile, batch);
    }
    uint count = min(end - batch, kTileThreads);
    if (thread < count)
      stage_slot(batch + thread, thread, live, place.tile_px);
    barrier();
    if (begins_chunk) store_checkpoint(shared_chunk, thread, state);
    for (uint i = 0u; i < count; ++i) {
      StagedSplat s = load_staged(i);
      [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        if ((s.quadrants >> k & 1u) != 0u) {
          float alpha;
          float weight;
          state[k].front = pass_splat(state[k].front, exponent_at(s, quadrant_px(place, k)), s.limits.z, alpha, weight);
          state[k].transmittance = state[k].front > 0.0 ? state[k].front : state[k].transmittance;
          state[k].channels.xyz = fma(vec3(weight), s.channels.xyz, state[k].channels.xyz);
          if (has_fourth) state[k].channels.w = fma(weight, s.channels.w, state[k].channels.w);
        }
      }
    }
  }
  if (stores_chunks && thread == 0u) slot_end[tile] = min(batch, end);
  [[unroll]] for (uint k = 0u; k < 4u; ++k)
    if (place.is_inside[k]) store_pixel(place.at[k], state[k]);
}
