// SPDX-License-Identifier: Apache-2.0
// Places a rectangle around the footprint of a Gaussian. The maths is that of the backends, which is put before this
// text; splatDefines, `ordering` and `extSplats` are Spark's: its sorted list of Gaussians, and the Gaussians as its
// generators have left them, in the frame of the world. Row 0 of the picture is its top.

uniform highp usampler2D ordering;
uniform highp usampler2DArray extSplats;
uniform highp usampler2DArray extSplats2;

uniform mat3 cameraRotation;
uniform vec3 cameraTranslation;
uniform vec2 focalPx;
uniform vec2 centerPx;
uniform vec2 sizePx;
uniform bool antialiased;
uniform float scaleModifier;

uniform bool isCropped;
uniform vec3 cropCenter;
uniform vec3 cropHalf;
uniform mat3 boxFromWorld;

uniform bool hasStates;
uniform highp usampler2D states;  // of the Gaussians: the bits of edits.ts
const uint SELECTED = 1u;
const uint REMOVED = 2u;
const vec3 selectedColor = vec3(1.0, 0.25, 0.05);

flat out vec2 meanPx;
flat out vec3 conicPx;
flat out vec4 colorAndOpacity;

RenderSettings renderSettings() {
  RenderSettings s;
  s.near_plane = default_near_plane;
  s.blur_px2 = default_blur_px2;
  s.scale_modifier = scaleModifier;
  s.alpha_max = default_alpha_max;
  s.antialiased = antialiased && shown != GAUSSIANS;
  s.inverse_depth = false;
  return s;
}

Pinhole pinhole() {
  Pinhole p;
  p.rotation = cameraRotation;
  p.translation = cameraTranslation;
  p.focal_px = focalPx;
  p.center_px = centerPx;
  p.size_px = sizePx;
  return p;
}

void main() {
  gl_Position = vec4(0.0, 0.0, 2.0, 1.0);  // outside: not drawn
  uint index = texelFetch(ordering, ivec2((gl_InstanceID >> 2) & 4095, gl_InstanceID >> 14), 0)[gl_InstanceID & 3];
  if (index == 0xffffffffu) return;

  ivec3 place = splatTexCoord(int(index));
  vec3 mean;
  Shape shape;
  vec4 xyzw;
  vec4 rgba;
  unpackSplatExt(texelFetch(extSplats, place, 0), texelFetch(extSplats2, place, 0), mean, shape.scale, xyzw, rgba);
  uint state = hasStates ? texelFetch(states, ivec2(int(index) & 4095, int(index) >> 12), 0).r : 0u;
  if ((state & REMOVED) != 0u) return;
  if (isCropped && any(greaterThan(abs(boxFromWorld * (mean - cropCenter)), cropHalf))) return;

  shape.scale *= scaleModifier;
  shape.rotation = xyzw.wxyz;

  Placed placed;
  placed.mean = mean;
  placed.covariance = covariance(shape);
  RenderSettings settings = renderSettings();
  Footprint f = footprint(placed, rgba.a, pinhole(), settings);
  if (!(f.opacity > 0.0)) return;

  // The ellipse where alpha falls to 1/255 is d^T Q d = tau; its axes are the eigenvectors of the conic Q. Along the
  // long one the smaller eigenvalue has lost digits, so the diagonal of the bounding box limits its length.
  float drawn_tau = splat_tau(log2_of(f.opacity));
  float tau = shown == GAUSSIANS ? 2.0 * log(f.opacity / ellipsoidAlpha) : drawn_tau;
  if (!(tau > 0.0)) return;
  vec3 Q = f.conic;
  float large = 0.5 * (Q.x + Q.z) + length(vec2(0.5 * (Q.x - Q.z), Q.y));
  float small = (Q.x * Q.z - Q.y * Q.y) / large;
  vec2 column = Q.x > Q.z ? vec2(-Q.y, Q.x - small) : vec2(Q.z - small, -Q.y);  // the longer one of Q - small I, turned
  vec2 axis = any(greaterThan(abs(column), vec2(1e-6 * large))) ? normalize(column) : vec2(1.0, 0.0);
  float diagonal = length(f.half_extent_px) * sqrt(tau / drawn_tau);
  vec2 offset = axis * position.x * min(diagonal, sqrt(tau / max(small, 1e-30))) +
                vec2(-axis.y, axis.x) * position.y * sqrt(tau / large);

  meanPx = f.mean_px;
  conicPx = f.conic;
  vec3 color = shown == DEPTH ? vec3(f.depth) : shown == GAUSSIANS ? gaussian_color(index) : max(rgba.rgb, vec3(0.0));
  if ((state & SELECTED) != 0u && shown != DEPTH) color = mix(color, selectedColor, 0.7);
  colorAndOpacity = vec4(color, f.opacity);
  gl_Position = vec4((f.mean_px + offset) / sizePx * 2.0 - 1.0, 0.0, 1.0);
}
