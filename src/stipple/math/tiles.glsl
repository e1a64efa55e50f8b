// SPDX-License-Identifier: Apache-2.0
// A splat touches exactly those tiles in which some pixel centre can have alpha >= 1/255, that is, where
//
//   q(d) = Q.xx dx^2 + 2 Q.xy dx dy + Q.yy dy^2 <= tau = 2 ln(255 o),   d = pixel centre - mean
//
// In each row of tiles this is one interval of columns, found in closed form: the extreme x of the ellipse lies at
// dy = -+ (Q.xy / Q.yy) x_reach or, if that is outside the row, at the row's nearest edge. Everything here is piecewise
// constant, so there are no derivatives.

CONST(int, tile_size_px, 16)

struct TileRange {  // tiles begin .. end - 1; empty if end <= begin
  int begin;
  int end;
};

// Tiles along one axis whose pixel centres (for tile k, from 16 k + 0.5 to 16 (k + 1) - 0.5) meet [low_px, high_px].
FN TileRange tiles_meeting(real low_px, real high_px, int tile_count) {
  real tile = real(tile_size_px);
  real first = -floor((tile - real(0.5) - low_px) / tile);
  real last = floor((high_px - real(0.5)) / tile);
  TileRange range;
  range.begin = 0;
  range.end = 0;
  if (!(low_px <= high_px)) return range;  // also rejects NaN
  // Clamped before the conversion, because the extent of a splat can exceed the range of int.
  range.begin = int(clamp(first, real(0), real(tile_count)));
  range.end = int(clamp(last, real(-1), real(tile_count - 1))) + 1;
  return range;
}

FN TileRange tile_rows(Footprint s, int row_count) {
  return tiles_meeting(s.mean_px.y - s.half_extent_px.y, s.mean_px.y + s.half_extent_px.y, row_count);
}

// x of the ellipse q = tau at dy, relative to the mean. `sign` selects the right (1) or the left (-1) side.
FN real ellipse_x(vec3 conic, real tau, real dy, real sign) {
  real root = conic.y * conic.y * dy * dy - conic.x * (conic.z * dy * dy - tau);
  return (sign * sqrt(max(root, real(0))) - conic.y * dy) / conic.x;
}

// tau = splat_tau() of the splat's opacity is passed in, because it is the same for all rows.
FN TileRange tile_columns(Footprint s, real tau, int row, int column_count) {
  real low_dy = real(row * tile_size_px) + real(0.5) - s.mean_px.y;
  real high_dy = low_dy + real(tile_size_px - 1);
  real dy_of_extreme = -s.conic.y / s.conic.z * s.half_extent_px.x;  // of the largest x; negated, of the smallest
  real right = ellipse_x(s.conic, tau, clamp(dy_of_extreme, low_dy, high_dy), real(1));
  real left = ellipse_x(s.conic, tau, clamp(-dy_of_extreme, low_dy, high_dy), real(-1));
  return tiles_meeting(s.mean_px.x + left, s.mean_px.x + right, column_count);
}

// Whether a splat may be drawn at a pixel whose centre is at most half_px from `center` in x and in y. The exponent of a
// splat is largest at its mean, if that is inside the box, or else on one of the two edges that face it. Some slack
// ensures that rounding never loses a pixel.
FN bool may_reach_box(FoldedSplat s, vec2 center, real half_px) {
  real a = s.curve.x;
  real b = s.curve.y;
  real c = s.curve.z;
  vec2 low = center - s.mean_px - vec2(half_px, half_px);
  vec2 high = center - s.mean_px + vec2(half_px, half_px);
  real near_x = clamp(real(0), low.x, high.x);
  real near_y = clamp(real(0), low.y, high.y);
  real on_side = clamp(real(-0.5) * b * near_x / c, low.y, high.y);
  real on_top = clamp(real(-0.5) * b * near_y / a, low.x, high.x);
  real side = a * near_x * near_x + on_side * (b * near_x + c * on_side);
  real above = c * near_y * near_y + on_top * (b * near_y + a * on_top);
  real slack = real(0.01) - real(1e-5) * (a * near_x * near_x + c * near_y * near_y);
  return max(side, above) + s.log2_opacity + slack >= min_exponent;
}
