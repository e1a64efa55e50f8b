// SPDX-License-Identifier: Apache-2.0
// Front-to-back alpha blending of splats at one pixel, and its reverse step.
//
//   sigma = d^T Q d / 2,  d = mean - pixel centre      alpha = min(alpha_max, o exp(-sigma))
//   channels = sum_i c_i alpha_i T_i,   T_1 = 1,   T_{i+1} = T_i (1 - alpha_i)
//
// A splat is skipped where alpha < 1/255, and a pixel is finished before T would fall under 1e-4. The channels are
// red, green, blue and a depth; accumulated alpha is 1 - T, that is one more channel of constant colour 1.

CONST(real, default_alpha_max, 0.99)
CONST(real, min_transmittance, 1e-4)

struct Splat {
  vec2 mean_px;
  vec3 conic;  // Q = (xx, xy, yy), 1 / px^2
  real opacity;
  vec4 channels;  // red, green, blue, depth or inverse depth
};

struct Pixel {
  vec4 channels;
  real transmittance;
};

CONST(real, max_channel, 1e30)  // sums of brighter ones would overflow

// A Gaussian whose colour is not a number, or next to infinite, is culled: it would spread over every pixel it touches.
FN boolean is_drawable_color(vec3 color) {
  return abs(color.x) < max_channel && abs(color.y) < max_channel && abs(color.z) < max_channel;
}

FN real depth_channel(real depth, bool inverse) { return inverse ? real(1) / depth : depth; }

FN real depth_channel_vjp(real depth, bool inverse, real dL_dchannel) {
  return inverse ? -dL_dchannel / (depth * depth) : dL_dchannel;
}

FN real falloff_exponent(Splat s, vec2 pixel) {  // sigma
  vec2 d = s.mean_px - pixel;
  return real(0.5) * (s.conic.x * d.x * d.x + s.conic.z * d.y * d.y) + s.conic.y * d.x * d.y;
}

FN real unclamped_alpha(Splat s, vec2 pixel) { return s.opacity * exp(-falloff_exponent(s, pixel)); }

// 0 where the splat is skipped.
FN real alpha_at(Splat s, vec2 pixel, real alpha_max) {
  real alpha = min(alpha_max, unclamped_alpha(s, pixel));
  return select(falloff_exponent(s, pixel) >= real(0) && alpha >= min_alpha, alpha, real(0));
}

FN boolean finishes_pixel(real transmittance, real alpha) {
  return transmittance * (real(1) - alpha) < min_transmittance;
}

FN Pixel blend(Pixel front, Splat s, real alpha) {
  Pixel result;
  result.channels = front.channels + s.channels * (alpha * front.transmittance);
  result.transmittance = front.transmittance * (real(1) - alpha);
  return result;
}

// Gradient of the picture with respect to one splat at one pixel where its alpha is not 0.
//   front          transmittance in front of the splat
//   behind         everything behind it, the background included, already weighted by its transmittance and
//                  dotted with the gradients: sum_j p_j alpha_j T_j + T_final (background . dL_dchannels)
//   dL_dchannels   and dL_dalpha: of the picture's outputs at this pixel; p = channels . dL_dchannels + dL_dalpha
FN Splat blend_vjp(real front, real behind, Splat s, vec2 pixel, real alpha_max, vec4 dL_dchannels, real dL_dalpha) {
  real alpha = alpha_at(s, pixel, alpha_max);
  real p = dot(s.channels, dL_dchannels) + dL_dalpha;
  real dL_dthis_alpha = p * front - behind / (real(1) - alpha);

  // A clamped alpha is the constant alpha_max.
  dL_dthis_alpha = select(unclamped_alpha(s, pixel) < alpha_max, dL_dthis_alpha, real(0));
  real dL_dsigma = -alpha * dL_dthis_alpha;
  vec2 d = s.mean_px - pixel;

  Splat g;
  g.channels = dL_dchannels * (alpha * front);
  g.opacity = exp(-falloff_exponent(s, pixel)) * dL_dthis_alpha;
  g.conic = vec3(real(0.5) * d.x * d.x, d.x * d.y, real(0.5) * d.y * d.y) * dL_dsigma;
  g.mean_px = vec2(s.conic.x * d.x + s.conic.y * d.y, s.conic.y * d.x + s.conic.z * d.y) * dL_dsigma;
  return g;
}
