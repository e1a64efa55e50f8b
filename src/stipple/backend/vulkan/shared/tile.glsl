// SPDX-License-Identifier: Apache-2.0
// Shared by blend and blend_backward. A work group of 64 threads draws a tile. Each thread has four pixels, one in each
// of the tile's quadrants of 8 x 8 pixels: 64 k + t is the number of thread t's pixel in quadrant k.
//
// Splats are staged in shared memory, with a bit for every quadrant that they may reach. All threads then skip the same
// quadrants together, whatever the size of a subgroup, and also those in which every pixel is finished.
//
// Both stages evaluate the exponent and the exponential with the same operations, so that they see exactly the same
// contributions.
#include "stipple/backend/vulkan/shared/split_array.glsl"

const uint kTileThreads = 64;
const uint kTilePixels = 256;
const uint kChunk = 256;  // slots, see ChunkList in vulkan_pass.h

READ_SPLIT(vec4, splat, 1, VECTOR_SHIFT)
READ_SPLIT(uint, splat_from_slot, 5, WORD_SHIFT)
layout(std430, binding = 9) readonly buffer SlotBegins { uint slot_begin[]; };
layout(std430, binding = 10) readonly buffer GivenChannels { vec4 given_channels[]; };

struct StagedSplat {
  vec4 shape;   // mean x, mean y, a, b
  vec3 limits;  // c, log2 opacity, largest exponent
  uint quadrants;
  vec4 channels;
};

StagedSplat stage_splat(uint gaussian, bool is_given, float log2_alpha_max, vec2 tile_px) {
  vec4 p = load_splat(4u * gaussian);
  vec4 q = load_splat(4u * gaussian + 1u);
  vec4 r = load_splat(4u * gaussian + 2u);
  FoldedSplat f = fold(p.xy, vec3(p.zw, q.x), load_splat(4u * gaussian + 3u).y, log2_alpha_max);
  StagedSplat s;
  s.shape = vec4(f.mean_px, f.curve.xy);
  s.limits = vec3(f.curve.z, f.log2_opacity, f.max_exponent);
  s.quadrants = 0u;
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    vec2 center = tile_px + vec2(float(8u * (k & 1u) + 4u), float(8u * (k >> 1u) + 4u));
    if (may_reach_box(f, center, 3.5)) s.quadrants |= 1u << k;
  }
  s.channels = is_given ? given_channels[gaussian] : vec4(q.zw, r.xy);
  return s;
}

float exponent_at(StagedSplat s, vec2 pixel) {
  vec2 d = pixel - s.shape.xy;
  return fma(d.x, fma(s.shape.z, d.x, s.shape.w * d.y), fma(s.limits.x * d.y, d.y, s.limits.y));
}

// The transmittance behind a splat with this exponent, or 0 if the splat finishes the pixel; `weight` is that of the
// splat's channels.
float pass_splat(float front, float exponent, float max_exponent, out float alpha, out float weight) {
  alpha = exp2(min(exponent, max_exponent));
  weight = exponent >= min_exponent ? front * alpha : 0.0;
  float after = front - weight;
  // A splat that would take the transmittance below the limit is not drawn, and finishes the pixel.
  bool goes_on = after >= min_transmittance;
  weight = goes_on ? weight : 0.0;
  return goes_on ? after : 0.0;
}

struct TilePlace {
  vec2 tile_px;   // corner of the tile
  vec2 first_px;  // centre of the thread's pixel in the first quadrant
  uint at[4];     // index of each pixel in a plane
  bool is_inside[4];
};

TilePlace tile_place(uint tile, uint thread, uint columns, uint first_row, uint width, uint height) {
  TilePlace p;
  uvec2 corner = 16u * uvec2(tile % columns, first_row + tile / columns);
  p.tile_px = vec2(corner);
  uvec2 first = corner + uvec2(thread % 8u, thread / 8u);
  p.first_px = vec2(first) + 0.5;
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    uvec2 pixel = first + 8u * uvec2(k & 1u, k >> 1u);
    p.at[k] = pixel.y * width + pixel.x;
    p.is_inside[k] = pixel.x < width && pixel.y < height;
  }
  return p;
}

shared vec4 staged_shape[kTileThreads];
shared vec4 staged_limits[kTileThreads];  // with the quadrants as bits
shared vec4 staged_channels[kTileThreads];
shared uint live_quadrants;

void store_staged(uint place, StagedSplat s) {
  staged_shape[place] = s.shape;
  staged_limits[place] = vec4(s.limits, uintBitsToFloat(s.quadrants));
  staged_channels[place] = s.channels;
}

StagedSplat load_staged(uint place) {
  StagedSplat s;
  s.shape = staged_shape[place];
  s.limits = staged_limits[place].xyz;
  s.quadrants = floatBitsToUint(staged_limits[place].w);
  s.channels = staged_channels[place];
  return s;
}

vec2 quadrant_px(TilePlace place, uint k) { return place.first_px + 8.0 * vec2(float(k & 1u), float(k >> 1u)); }

// A bit for every quadrant in which any thread's pixel is not finished yet; `fronts` has the transmittances in front of
// the next splat. Also waits until all threads have read the staged splats.
uint find_live_quadrants(vec4 fronts) {
  uint mine = 0u;
  [[unroll]] for (uint k = 0u; k < 4u; ++k)
    if (fronts[k] > 0.0) mine |= 1u << k;
  barrier();
  if (gl_LocalInvocationIndex == 0u) live_quadrants = 0u;
  barrier();
  if ((mine & ~live_quadrants) != 0u) atomicOr(live_quadrants, mine);
  barrier();
  return live_quadrants;
}
