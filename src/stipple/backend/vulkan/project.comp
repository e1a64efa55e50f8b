// SPDX-License-Identifier: Apache-2.0
// project, last step: the splats of the Gaussians that are shown, in their rows; one thread per Gaussian. The
// coefficients of the others are not read.
#version 460
#define PARAMETER_ACCESS readonly
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/view.glsl"
#include "stipple/backend/vulkan/shared/gaussian.glsl"
#include "stipple/backend/vulkan/shared/footprint.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/tile_search.glsl"

layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer Parameters {
  VIEW_PARAMETERS
  uint block_count;  // of all Gaussians
  uint row_capacity;
};
layout(std430, binding = 9) readonly buffer Visible { uvec2 visible[]; };
layout(std430, binding = 10) writeonly buffer TileCounts { uint tile_count[]; };
layout(std430, binding = 11) writeonly buffer DepthKeys { uint depth_key[]; };
layout(std430, binding = 12) buffer Status { uint status[]; };
WRITE_SPLIT(vec4, splat, 13, VECTOR_SHIFT)
DEFINE_VIEW_FUNCTIONS
DEFINE_FOOTPRINT
#include "stipple/backend/vulkan/shared/visible_row.glsl"
#include "stipple/backend/vulkan/shared/tile_totals.glsl"

// The colour before it is clamped.
vec3 shade(uint thread, uint i, vec3 from_mean) {
  if (has_color) return vec3(color[3 * i], color[3 * i + 1], color[3 * i + 2]);
  HarmonicBasis basis = harmonic_basis(sh_degree, view_ray(from_mean, view_camera()).direction);
  vec3 sum = vec3(0.0);
  [[unroll]] for (int k = 0; k < sh_count; ++k) sum += sh_of(thread, k) * basis.b[k];
  return sum;
}

void main() {
  uint thread = gl_LocalInvocationIndex;
  uint first = group_index() * 64u;
  uint i = first + thread;
  begin_totals(thread);
  uint gaussian = first_gaussian + i;
  if (gaussian == 0u) {
    uint shown = shown_count(block_count);
    status[kSplats] = shown;
    status[kHasOverflowed] = shown > row_capacity ? 1u : 0u;
  }
  Footprint f;
  f.opacity = 0.0;
  vec3 from_mean = vec3(0.0);
  if (i < count && is_shown(gaussian)) f = footprint_of_gaussian(i, from_mean);
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
  add_to_totals(tiles);  // also without room, since the next attempt needs to know them
  if (i < count && has_row(gaussian, block_count, row_capacity)) {
    uint row = row_of(gaussian);
    tile_count[row] = tiles;
    depth_key[row] = depth_key_of(tiles, f.depth);
    if (is_drawn) {
      Splat s = splat_of(f, rgb, view_settings());
      store_splat(4u * row, vec4(s.mean_px, s.conic.xy));
      store_splat(4u * row + 1u, vec4(s.conic.z, s.opacity, s.channels.xy));
      store_splat(4u * row + 2u, vec4(s.channels.zw, f.depth, f.half_extent_px.x));
      store_splat(4u * row + 3u, vec4(f.half_extent_px.y, log2_opacity, 0.0, 0.0));
    } else {
      store_splat(4u * row + 1u, vec4(0.0));
    }
  }
  barrier();
  finish_totals(thread);
}
