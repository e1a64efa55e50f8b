// SPDX-License-Identifier: Apache-2.0
// loss, second kernel: the gradient of the frame.
#version 460
#define GROUP_THREADS 256
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/loss.glsl"
#include "stipple/backend/vulkan/shared/group_sum.glsl"

layout(std430, binding = 9) writeonly buffer Gradients { float dL_dcolor[]; };

shared vec3 derivatives[kWide * kWide];
shared vec3 filtered_rows[kWide * kSide];

vec3 load_derivatives(uint channel, ivec2 pixel) {
  if (any(lessThan(pixel, ivec2(0))) || pixel.x >= int(width) || pixel.y >= int(height)) return vec3(0.0);
  uint at = channel * width * height + uint(pixel.y) * width + uint(pixel.x);
  return vec3(d_x[at], d_xx[at], d_xy[at]);
}

void main() {
  Square square = square_of();
  for (int at = int(gl_LocalInvocationIndex); at < kWide * kWide; at += 256)
    derivatives[at] = load_derivatives(square.channel, square.corner + ivec2(at % kWide, at / kWide) - kRadius);
  barrier();
  for (int at = int(gl_LocalInvocationIndex); at < kWide * kSide; at += 256) {
    vec3 sum = vec3(0.0);
    [[unroll]] for (int k = 0; k <= 2 * kRadius; ++k)
      sum += window[abs(k - kRadius)] * derivatives[at / kSide * kWide + at % kSide + k];
    filtered_rows[at] = sum;
  }
  barrier();
  float l1 = 0.0;
  float squares = 0.0;
  if (square.is_inside) {
    vec3 d = vec3(0.0);
    [[unroll]] for (int k = 0; k <= 2 * kRadius; ++k)
      d += window[abs(k - kRadius)] *
           filtered_rows[(int(gl_LocalInvocationID.y) + k) * kSide + int(gl_LocalInvocationID.x)];
    vec2 pair = load_pair(square.channel, square.pixel);
    float scale = 1.0 / (3.0 * float(width) * float(height));
    float dL_dx = -ssim_weight * scale * (d.x + 2.0 * pair.x * d.y + pair.y * d.z) +
                  absolute_difference_vjp(pair.x, pair.y, l1_weight * scale);
    uint at = uint(square.pixel.y) * width + uint(square.pixel.x);
    dL_dcolor[square.channel * width * height + at] = has_weight ? weight[at] * dL_dx : dL_dx;
    l1 = absolute_difference(pair.x, pair.y);
    squares = (pair.x - pair.y) * (pair.x - pair.y);
  }
  vec4 sum = sum_over_group(vec4(0.0, l1, squares, 0.0));
  if (gl_LocalInvocationIndex == 0u) group_sum[2u * square.group + 1u] = sum;
}
