// SPDX-License-Identifier: Apache-2.0
// loss, first kernel: SSIM and its derivatives.
#version 460
#define GROUP_THREADS 256
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/loss.glsl"
#include "stipple/backend/vulkan/shared/group_sum.glsl"

shared vec2 pairs[kWide * kWide];
shared vec4 filtered_rows[kWide * kSide];  // means of x, y, x^2 + y^2 and x y

void main() {
  Square square = square_of();
  for (int at = int(gl_LocalInvocationIndex); at < kWide * kWide; at += 256)
    pairs[at] = load_pair(square.channel, square.corner + ivec2(at % kWide, at / kWide) - kRadius);
  barrier();
  for (int at = int(gl_LocalInvocationIndex); at < kWide * kSide; at += 256) {
    vec4 sum = vec4(0.0);
    [[unroll]] for (int k = 0; k <= 2 * kRadius; ++k) {
      vec2 p = pairs[at / kSide * kWide + at % kSide + k];
      sum += window[abs(k - kRadius)] * vec4(p, dot(p, p), p.x * p.y);
    }
    filtered_rows[at] = sum;
  }
  barrier();
  float similarity = 0.0;
  if (square.is_inside) {
    vec4 mean = vec4(0.0);
    [[unroll]] for (int k = 0; k <= 2 * kRadius; ++k)
      mean += window[abs(k - kRadius)] *
              filtered_rows[(int(gl_LocalInvocationID.y) + k) * kSide + int(gl_LocalInvocationID.x)];
    WindowMeans m;  // SSIM needs the means of x^2 and y^2 only as a sum
    m.x = mean.x;
    m.y = mean.y;
    m.xx = mean.z;
    m.yy = 0.0;
    m.xy = mean.w;
    WindowMeans d = ssim_vjp(m, 1.0);
    similarity = ssim(m);
    uint at = square.channel * width * height + uint(square.pixel.y) * width + uint(square.pixel.x);
    d_x[at] = d.x;
    d_xx[at] = d.xx;
    d_xy[at] = d.xy;
  }
  vec4 sum = sum_over_group(vec4(similarity, 0.0, 0.0, 0.0));
  if (gl_LocalInvocationIndex == 0u) group_sum[2u * square.group] = sum;
}
