// SPDX-License-Identifier: Apache-2.0
// blend_backward: from the frame's gradient to sums over pixels, from which the splats' gradients follow.
//
// One work group per chunk replays the chunk's splats front to back. For a splat at a pixel, let
// p = channels . dL_dchannels + dL_dalpha, with the pixel's gradients, and let S be the dot product of these gradients
// with all that lies behind the splat: with the whole pixel at first, less p alpha T for each splat passed. The gradient
// of the splat's own alpha is then dL_dalpha = p T - S / (1 - alpha). Only the moments of q = alpha dL_dalpha in
// math/blending.glsl are summed: the conic is multiplied in once per Gaussian.
//
// Splats that reach the tile are processed in groups of eight, in two phases. First, each thread replays its own four
// pixels, and writes the splats' weights and q to tables in shared memory. Then eight threads share a splat: each sums
// over 32 pixels of its row in the tables, and a reduction across the eight adds up the rest. No sum over pixels thus
// needs an operation across threads for more than one pixel in 32, and memory gets one addition per splat, tile and
// field.
//
// FLOAT_ATOMICS adds with the atomics of VK_EXT_shader_atomic_float, and SLOT_SUMS stores the sums of every slot
// separately, so that they can be added up in a fixed order. Otherwise, a loop of compare-and-swap adds them.
#version 460
#ifdef FLOAT_ATOMICS
#extension GL_EXT_shader_atomic_float : require
#endif
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/tile.glsl"
#include "stipple/backend/vulkan/shared/splat_sums.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 2) const bool has_fourth = false;
layout(constant_id = 3) const bool is_given = false;
layout(constant_id = 4) const bool has_absolute = false;  // sums of absolute values are wanted
layout(constant_id = 5) const bool has_alpha = false;     // the accumulated alpha has a gradient
layout(constant_id = 6) const bool has_fourth_checkpoint = false;
layout(std430, binding = 0) readonly buffer Parameters {
  float log2_alpha_max;
  uint columns;
  uint first_row;
  uint width;
  uint height;
  uint tile_count;
  uint channel_count;  // given
  uint first_plane;    // of the given channels
};
layout(std430, binding = 11) readonly buffer SlotEnds { uint slot_end[]; };
layout(std430, binding = 12) readonly buffer Chunks { uvec2 chunks[]; };
layout(std430, binding = 13) readonly buffer Planes { float planes[]; };
layout(std430, binding = 14) readonly buffer Fourth { float fourth[]; };
layout(std430, binding = 15) readonly buffer Transmittances { float transmittance[]; };
layout(std430, binding = 16) readonly buffer PlaneGradients { float dL_dplanes[]; };
layout(std430, binding = 17) readonly buffer FourthGradients { float dL_dfourth[]; };
layout(std430, binding = 18) readonly buffer AlphaGradients { float dL_dalpha[]; };
READ_SPLIT(float, checkpoint, 19, WORD_SHIFT)
layout(std430, binding = 23) buffer Status { uint status[]; };
#if defined(FLOAT_ATOMICS) || defined(SLOT_SUMS)
SPLIT_ARRAY(coherent, float, sum, 24)
#else
SPLIT_ARRAY(coherent, uint, sum, 24)
#endif

const uint kRows = 8;            // splats in the tables
const uint kRowStride = 264;     // keeps the rows from conflicting in shared memory
const uint kParts = 8;           // threads that share a row
const uint kFields = has_fourth_checkpoint ? 5 : 4;  // of a checkpoint

shared float table_weight[kRows * kRowStride];
shared float table_q[kRows * kRowStride];
shared vec4 pixel_gradient[kTilePixels];
shared uint row_splat[kRows];  // its place among the staged splats
shared uint staged_target[kTileThreads];  // where its sums are: the Gaussian's or the slot's
#ifndef SUBGROUPS
shared float part_sum[kTileThreads * (kSumFields + 1)];
#endif

#if defined(SLOT_SUMS)
#define ADD_TO(target, value) target = value
#elif defined(FLOAT_ATOMICS)
#define ADD_TO(target, value) atomicAdd(target, value)
#else
// A swap succeeds if nothing else has changed the sum in between.
#define ADD_TO(target, value)                                                                                \
  for (uint before = target, found;; before = found) {                                                       \
    found = atomicCompSwap(target, before, floatBitsToUint(uintBitsToFloat(before) + value));                \
    if (found == before) break;                                                                              \
  }
#endif

void add_to_sums(uint i, float value) {
  if (value == 0.0) return;
  uint piece = piece_log2 == 0 ? 0u : i >> WORD_SHIFT;
  uint at = piece_log2 == 0 ? i : i & ((1u << WORD_SHIFT) - 1u);
  if (piece == 0u) {
    ADD_TO(sum_0[at], value);
  } else if (piece == 1u) {
    ADD_TO(sum_1[at], value);
  } else if (piece == 2u) {
    ADD_TO(sum_2[at], value);
  } else {
    ADD_TO(sum_3[at], value);
  }
}

struct PixelState {
  float front;  // transmittance in front of the next splat; 0 when finished
  float behind;
  vec4 gradient;
  float dL_dalpha;
};

// A pixel at the start of the chunk; the first chunk of a tile has no checkpoint.
PixelState load_pixel(TilePlace place, uint k, uint thread, bool is_first, uint chunk) {
  PixelState p;
  p.front = p.behind = p.dL_dalpha = 0.0;
  p.gradient = vec4(0.0);
  if (!place.is_inside[k]) return p;
  uint at = place.at[k];
  uint plane = width * height;
  uint saved = chunk * kFields * kTilePixels + 64u * k + thread;
  float front = is_first ? 1.0 : load_checkpoint(saved);  // negative when finished
  p.front = max(front, 0.0);
  [[unroll]] for (uint c = 0u; c < 3u; ++c) {
    if (is_given && c >= channel_count) break;
    uint from = (first_plane + c) * plane + at;
    p.gradient[c] = dL_dplanes[from];
    p.behind += p.gradient[c] * (planes[from] - (is_first ? 0.0 : load_checkpoint(saved + (1u + c) * kTilePixels)));
  }
  if (has_fourth && (!is_given || channel_count == 4u)) {
    uint from = (first_plane + 3u) * plane + at;
    float drawn = is_given ? planes[from] : fourth[at];
    p.gradient.w = is_given ? dL_dplanes[from] : dL_dfourth[at];
    p.behind += p.gradient.w * (drawn - (is_first ? 0.0 : load_checkpoint(saved + 4u * kTilePixels)));
  }
  if (has_alpha) {
    p.dL_dalpha = dL_dalpha[at];
    p.behind += p.dL_dalpha * (abs(front) - transmittance[at]);
  }
  return p;
}

// First phase: one splat at one pixel. Sets weight and q, which are zero where the splat is not drawn.
void replay(StagedSplat s, float exponent, inout PixelState pixel, out float weight, out float q) {
  float front = pixel.front;
  float alpha;
  pixel.front = pass_splat(front, exponent, s.limits.z, alpha, weight);
  float p = fma(s.channels.x, pixel.gradient.x, pixel.dL_dalpha);
  p = fma(s.channels.y, pixel.gradient.y, p);
  p = fma(s.channels.z, pixel.gradient.z, p);
  if (has_fourth) p = fma(s.channels.w, pixel.gradient.w, p);
  pixel.behind = fma(-weight, p, pixel.behind);
  float dL_dthis_alpha = fma(front, p, -pixel.behind / (1.0 - alpha));
  q = weight > 0.0 && exponent < log2_alpha_max ? alpha * dL_dthis_alpha : 0.0;  // a clamped alpha is constant
}

// Second phase: sums over the pixels of one part of a row. Pixel 64 k + 8 y + x is at column x of quadrant k, and the
// part has the pixels of one column.
void sum_part_of_row(uint row, uint part, StagedSplat s, vec2 tile_px, out float sums[kSumFields]) {
  vec4 channels = vec4(0.0);
  float q0 = 0.0;
  vec2 q1 = vec2(0.0);
  vec3 q2 = vec3(0.0);
  vec2 absolute = vec2(0.0);
  vec3 conic = unfold_conic(vec3(s.shape.zw, s.limits.x));
  for (uint half_tile = 0u; half_tile < 2u; ++half_tile) {  // the left and the right quadrants
    float dx = tile_px.x + float(8u * half_tile + part) + 0.5 - s.shape.x;
    vec3 in_column = vec3(0.0);  // sums of q, q dy and q dy^2
    for (uint k = half_tile; k < 4u; k += 2u) {
      if ((s.quadrants >> k & 1u) == 0u) continue;
      [[unroll]] for (uint y = 0u; y < 8u; ++y) {
        uint pixel = 64u * k + 8u * y + part;
        float weight = table_weight[row * kRowStride + pixel];
        float q = table_q[row * kRowStride + pixel];
        float dy = tile_px.y + float(8u * (k >> 1u) + y) + 0.5 - s.shape.y;
        channels.xyz = fma(vec3(weight), pixel_gradient[pixel].xyz, channels.xyz);
        if (has_fourth) channels.w = fma(weight, pixel_gradient[pixel].w, channels.w);
        float q_dy = q * dy;
        in_column += vec3(q, q_dy, 0.0);
        in_column.z = fma(q_dy, dy, in_column.z);
        if (has_absolute)
          absolute += abs(q * vec2(conic.x * dx + conic.y * dy, conic.y * dx + conic.z * dy));
      }
    }
    q0 += in_column.x;
    q1 += vec2(dx * in_column.x, in_column.y);
    q2 += vec3(dx * dx * in_column.x, dx * in_column.y, in_column.z);
  }
  sums = float[kSumFields](channels.x, channels.y, channels.z, channels.w, q0, q1.x, q1.y, q2.x, q2.y, q2.z, absolute.x,
                           absolute.y);
}

void pass_on(uint row, uint field, float value) {
  if (field >= kSumFields) return;
  if (!is_finite(value) || abs(value) > kMaxTileSum) status[kIsBad] = 1u;
  add_to_sums(staged_target[row_splat[row]] * kSumFields + field, value);
}

// Sums the first `count` rows of the tables over their pixels, and passes on the sums.
void empty_tables(uint thread, uint count, vec2 tile_px) {
  barrier();
  uint row = thread / kParts;
  uint part = thread % kParts;
  float sums[kSumFields];
  [[unroll]] for (uint i = 0u; i < kSumFields; ++i) sums[i] = 0.0;
  if (row < count) sum_part_of_row(row, part, load_staged(row_splat[row]), tile_px, sums);
#ifdef SUBGROUPS
  // Each of three steps halves the number of fields that a thread holds, and doubles the number of threads whose sums
  // it has. In the end, a thread has two fields.
  vec4 a = vec4(sums[0], sums[1], sums[2], sums[3]);
  vec4 b = vec4(sums[4], sums[5], sums[6], sums[7]);
  vec4 c = vec4(sums[8], sums[9], sums[10], sums[11]);
  bool is_upper = (part & 4u) != 0u;
  vec4 d = (is_upper ? c : a) + subgroupShuffleXor(is_upper ? a : c, 4u);
  vec4 e = (is_upper ? vec4(0.0) : b) + subgroupShuffleXor(is_upper ? b : vec4(0.0), 4u);
  is_upper = (part & 2u) != 0u;
  vec4 f = (is_upper ? e : d) + subgroupShuffleXor(is_upper ? d : e, 2u);
  is_upper = (part & 1u) != 0u;
  vec2 g = (is_upper ? f.zw : f.xy) + subgroupShuffleXor(is_upper ? f.xy : f.zw, 1u);
  if (row < count) {
    pass_on(row, 2u * part, g.x);
    pass_on(row, 2u * part + 1u, g.y);
  }
#else
  [[unroll]] for (uint i = 0u; i < kSumFields; ++i) part_sum[thread * (kSumFields + 1u) + i] = sums[i];
  barrier();
  for (uint at = thread; at < count * kSumFields; at += kTileThreads) {
    float all = 0.0;
    for (uint p = 0u; p < kParts; ++p) all += part_sum[(at / kSumFields * kParts + p) * (kSumFields + 1u) + at % kSumFields];
    pass_on(at / kSumFields, at % kSumFields, all);
  }
#endif
  barrier();
}

void main() {
  uint thread = thread_index();
  uint group = group_index();
  bool is_first = group < tile_count;
  uint chunk = is_first ? 0u : group - tile_count;
  uint tile = is_first ? group : chunks[chunk].x;
  uint begin = is_first ? slot_begin[tile] : chunks[chunk].y;
  uint end = min(begin + kChunk, slot_end[tile]);

  TilePlace place = tile_place(tile, thread, columns, first_row, width, height);
  PixelState state[4];
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    state[k] = load_pixel(place, k, thread, is_first, chunk);
    pixel_gradient[64u * k + thread] = state[k].gradient;
  }
  for (uint batch = begin; batch < end; batch += kTileThreads) {
    uint live = find_live_quadrants(vec4(state[0].front, state[1].front, state[2].front, state[3].front));
    if (live == 0u) break;
    uint count = min(end - batch, kTileThreads);
    if (thread < count) {
      uint gaussian = load_splat_from_slot(batch + thread);
      StagedSplat s = stage_splat(gaussian, is_given, log2_alpha_max, place.tile_px);
      s.quadrants &= live;
      store_staged(thread, s);
#ifdef SLOT_SUMS
      staged_target[thread] = batch + thread;
#else
      staged_target[thread] = gaussian;
#endif
    }
    barrier();
    uint rows = 0u;
    for (uint i = 0u; i < count; ++i) {
      StagedSplat s = load_staged(i);
      if (s.quadrants == 0u) continue;
      [[unroll]] for (uint k = 0u; k < 4u; ++k) {
        if ((s.quadrants >> k & 1u) != 0u) {
          float weight;
          float q;
          replay(s, exponent_at(s, quadrant_px(place, k)), state[k], weight, q);
          table_weight[rows * kRowStride + 64u * k + thread] = weight;
          table_q[rows * kRowStride + 64u * k + thread] = q;
        }
      }
      if (thread == 0u) row_splat[rows] = i;
      if (++rows == kRows) {
        empty_tables(thread, rows, place.tile_px);
        rows = 0u;
      }
    }
    if (rows > 0u) empty_tables(thread, rows, place.tile_px);
  }
}
