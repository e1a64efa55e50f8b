// SPDX-License-Identifier: Apache-2.0
// One Gaussian at one pixel, to be blended over those behind it.

flat in vec2 meanPx;
flat in vec3 conicPx;
flat in vec4 colorAndOpacity;

out vec4 fragment;

void main() {
  Splat s;
  s.mean_px = meanPx;
  s.conic = conicPx;
  s.opacity = colorAndOpacity.a;
  float alpha = alpha_at(s, gl_FragCoord.xy, default_alpha_max);
  if (shown == GAUSSIANS) alpha = alpha > ellipsoidAlpha ? default_alpha_max : 0.0;
  if (alpha == 0.0) discard;
  fragment = vec4(colorAndOpacity.rgb * alpha, alpha);
}
