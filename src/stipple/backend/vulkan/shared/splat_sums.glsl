// SPDX-License-Identifier: Apache-2.0
// The sums that blend_backward accumulates for a splat: four channels, the six moments of SplatMoments, and the sums of
// absolute values.
const uint kSumFields = 12;
const uint kSumQ = 4;
const uint kSumAbsolute = 10;
// A tile's sum beyond this counts as not finite. The sum of all tiles, and the gradient, are then finite for certain.
const float kMaxTileSum = 1e30;

SplatMoments moments_of(float sum[kSumFields]) {
  SplatMoments m;
  m.channels = vec4(sum[0], sum[1], sum[2], sum[3]);
  m.q = sum[kSumQ];
  m.qd = vec2(sum[5], sum[6]);
  m.qdd = vec3(sum[7], sum[8], sum[9]);
  return m;
}
