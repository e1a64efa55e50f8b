// SPDX-License-Identifier: Apache-2.0
// The blended picture over the background, on the screen. Row 0 of the picture is its top.
uniform sampler2D picture;  // premultiplied colour or depth, and alpha
uniform vec3 background;
uniform float middleDepth;

out vec4 pixel;

void main() {
  ivec2 place = ivec2(gl_FragCoord.xy);
  place.y = textureSize(picture, 0).y - 1 - place.y;
  vec4 blended = texelFetch(picture, place, 0);
  vec3 over = blended.rgb;
  if (shown == ALPHA) over = vec3(blended.a);
  else if (shown == DEPTH) {
    vec3 color = depth_color(blended.r / max(blended.a, 1e-6), middleDepth);
    over = color * blended.a + background * (1.0 - blended.a);
  } else over += background * (1.0 - blended.a);
  pixel = vec4(clamp(over, 0.0, 1.0), 1.0);
}
