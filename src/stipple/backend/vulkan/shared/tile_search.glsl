// SPDX-License-Identifier: Apache-2.0
// The tiles that a splat touches, by rows of tiles. project counts them and emit writes them.
TileRange rows_of_tiles(Footprint f, int first_row, int end_row) {
  TileRange rows = tile_rows(f, end_row);
  rows.begin = max(rows.begin, first_row);
  return rows;
}

uint length_of(TileRange range) { return range.end > range.begin ? uint(range.end - range.begin) : 0u; }

// The four vectors of a projected splat (ProjectedSplat in pass.h).
Footprint footprint_of(vec4 a, vec4 b, vec4 c, vec4 d) {
  Footprint f;
  f.mean_px = a.xy;
  f.conic = vec3(a.zw, b.x);
  f.opacity = b.y;
  f.depth = c.z;
  f.half_extent_px = vec2(c.w, d.x);
  return f;
}
