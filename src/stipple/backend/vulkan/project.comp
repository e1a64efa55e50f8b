// SPDX-License-Identifier: Apache-2.0
// project: from every Gaussian to its splat on the screen, or to opacity 0; one thread per Gaussian. The coefficients
// of Gaussians that are culled early are not read.
#version 460
#define PARAMETER_ACCESS readonly
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/view.glsl"
#include "stipple/backend/vulkan/shared/gaussian.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/tile_search.glsl"

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Parameters { VIEW_PARAMETERS };
layout(std430, binding = 9) buffer Splats { vec4 splat[]; };
layout(std430, binding = 10) writeonly buffer TileCounts { uint tile_count[]; };
layout(std430, binding = 11) writeonly buffer DepthKeys { uint depth_key[]; };
layout(std430, binding = 12) buffer Status { uint status[]; };
DEFINE_VIEW_FUNCTIONS

shared uint group_pairs;
shared uint group_gaussians;

// The colour before it is clamped.
vec3 shade(uint thread, uint i, vec3 from_mean) {
  if (has_color) return vec3(color[3 * i], color[3 * i + 1], color[3 * i + 2]);
  HarmonicBasis basis = harmonic_basis(sh_degree, view_ray(from_mean, view_camera()).direction);
  vec3 sum = vec3(0.0);
  [[unroll]] for (int k = 0; k < sh_count; ++k) sum += sh_of(thread, k) * basis.b[k];
  return sum;
}

uint count_tiles(Footprint f, float log2_opacity) {
  float tau = splat_tau(log2_opacity);
  TileRange rows = rows_of_tiles(f, row_begin, row_end);
  uint tiles = 0u;
  for (int row = rows.begin; row < rows.end; ++row) tiles += length_of(tile_columns(f, tau, row, column_count));
  return tiles;
}

void main() {
  uint thread = gl_LocalInvocationIndex;
  uint first = group_index() * 64u;
  uint i = first + thread;
  if (thread == 0) group_pairs = group_gaussians = 0u;
  Footprint f;
  f.opacity = 0.0;
  vec3 from_mean = vec3(0.0);
  if (i < count) {
    ActiveGaussian g = load_gaussian(i, scale_modifier, first_gaussian + i, view_dropout());
    from_mean = g.placed.mean;
    f = footprint(g.placed, g.opacity, view_camera(), view_settings());
    if (has_nan(load_stored(i))) f.opacity = 0.0;
  }
  bool is_drawn = f.opacity > 0.0;
  if (!has_color) load_sh_rows(thread, first, is_drawn);
  barrier();
  vec3 rgb = vec3(0.0);
  if (is_drawn) {
    rgb = shade(thread, i, from_mean);
    bool is_number = !has_nan(rgb);
    if (!has_color) rgb = color_from_harmonics(rgb);
    is_drawn = is_number && is_drawable_color(rgb);
  }
  uint tiles = 0u;
  float log2_opacity = 0.0;
  if (is_drawn) {
    log2_opacity = log2_of(f.opacity);
    tiles = count_tiles(f, log2_opacity);
  }
  if (tiles > 0u) {
    atomicAdd(group_pairs, tiles);
    atomicAdd(group_gaussians, 1u);
  }
  if (i < count) {
    tile_count[i] = tiles;
    depth_key[i] = tiles > 0u ? floatBitsToUint(f.depth) : 0xffffffffu;
    if (is_drawn) {
      Splat s = splat_of(f, rgb, view_settings());
      splat[4 * i] = vec4(s.mean_px, s.conic.xy);
      splat[4 * i + 1] = vec4(s.conic.z, s.opacity, s.channels.xy);
      splat[4 * i + 2] = vec4(s.channels.zw, f.depth, f.half_extent_px.x);
      splat[4 * i + 3] = vec4(f.half_extent_px.y, log2_opacity, 0.0, 0.0);
    } else {
      splat[4 * i + 1] = vec4(0.0);
    }
  }
  barrier();
  if (thread == 0 && group_pairs > 0u) {
    uint before = atomicAdd(status[kPairsLow], group_pairs);
    if (before + group_pairs < before) atomicAdd(status[kPairsHigh], 1u);
    atomicAdd(status[kGaussians], group_gaussians);
  }
}
