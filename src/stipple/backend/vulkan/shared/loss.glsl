// SPDX-License-Identifier: Apache-2.0
// loss: L1 + SSIM of the frame against an 8-bit target, and its gradient, in two kernels. A work group has a square of
// 16 x 16 pixels of one channel. It filters the square and the 5 pixels around it horizontally and then vertically, in
// shared memory. The first kernel thus obtains the window's means, and from these SSIM and its derivatives (the formulas
// of math/similarity.glsl). The second filters the derivatives in the same way, which gives the gradient: the window is
// symmetric, so the same filter serves forward and backward. Everything outside the image is zero.
//
// A pixel's weight w replaces the frame's value x by y + w (x - y), where y is the target: with weight 0 the pixel
// counts as already right. A target with alpha is first completed with the view's background.
layout(local_size_x = 16, local_size_y = 16) in;
layout(constant_id = 2) const bool has_weight = false;
layout(constant_id = 3) const bool is_cut_out = false;
layout(std430, binding = 0) readonly buffer Parameters {
  uint width;
  uint height;
  float l1_weight;
  float ssim_weight;
  float background[3];
  float window[6];  // SSIM's, by distance from the centre
};
layout(std430, binding = 1) readonly buffer Colors { float color[]; };
layout(std430, binding = 2) readonly buffer Targets { uint target[]; };  // four bytes per word
layout(std430, binding = 3) readonly buffer Weights { float weight[]; };
layout(std430, binding = 4) readonly buffer Alphas { uint target_alpha[]; };
layout(std430, binding = 5) buffer Derivatives1 { float d_x[]; };   // of SSIM, with respect to the window's means of x,
layout(std430, binding = 6) buffer Derivatives2 { float d_xx[]; };  // x^2
layout(std430, binding = 7) buffer Derivatives3 { float d_xy[]; };  // and x y
layout(std430, binding = 8) buffer GroupSums { vec4 group_sum[]; };

const int kRadius = ssim_window_radius_px;
const int kSide = 16;
const int kWide = kSide + 2 * kRadius;

float byte_of(uint word, uint at) { return float(word >> (8u * (at & 3u)) & 255u) * (1.0 / 255.0); }

// One channel of a pixel of the frame and of its target; zeros outside the image.
vec2 load_pair(uint channel, ivec2 pixel) {
  if (any(lessThan(pixel, ivec2(0))) || pixel.x >= int(width) || pixel.y >= int(height)) return vec2(0.0);
  uint at = uint(pixel.y) * width + uint(pixel.x);
  uint byte_at = 3u * at + channel;
  float y = byte_of(target[byte_at / 4u], byte_at);
  if (is_cut_out) y = over_background(y, byte_of(target_alpha[at / 4u], at), background[channel]);
  float x = color[channel * width * height + at];
  return vec2(has_weight ? y + weight[at] * (x - y) : x, y);
}

struct Square {
  uint channel;
  uint group;
  ivec2 corner;
  ivec2 pixel;
  bool is_inside;
};

Square square_of() {
  uvec2 squares = (uvec2(width, height) + 15u) / 16u;
  Square s;
  s.group = group_index();
  s.channel = s.group / (squares.x * squares.y);
  uint in_plane = s.group % (squares.x * squares.y);
  s.corner = kSide * ivec2(in_plane % squares.x, in_plane / squares.x);
  s.pixel = s.corner + ivec2(gl_LocalInvocationID.xy);
  s.is_inside = s.pixel.x < int(width) && s.pixel.y < int(height);
  return s;
}
