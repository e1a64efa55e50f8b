// SPDX-License-Identifier: Apache-2.0
// Front-to-back alpha blending of splats at one pixel, and its reverse step.
//
//   sigma = d^T Q d / 2,  d = mean - pixel centre      alpha = min(alpha_max, o exp(-sigma))
//   channels = sum_i c_i alpha_i T_i,   T_1 = 1,   T_{i+1} = T_i (1 - alpha_i)
//
// A splat is skipped where alpha < 1/255, and a pixel is finished before T would fall below 1e-4. The channels are red,
// green, blue and depth. The accumulated alpha is 1 - T, which equals one more channel of constant colour 1.

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

CONST(real, max_channel, 1e30)  // sums of larger values could overflow

// A Gaussian whose colour is NaN or close to infinite is culled, because it would spoil every pixel it touches.
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

// 0 means that the splat is skipped at this pixel.
FN real alpha_at(Splat s, vec2 pixel, real alpha_max) {
  real alpha = min(alpha_max, unclamped_alpha(s, pixel));
  return select(falloff_exponent(s, pixel) >= real(0) && alpha >= min_alpha, alpha, real(0));
}

FN boolean finishes_pixel(real transmittance, real alpha) {
  return transmittance * (real(1) - alpha) < min_transmittance;
}

// A channel of a cut-out photo, already multiplied by its alpha, in front of a background.
FN real over_background(real premultiplied, real alpha, real background) {
  return premultiplied + (real(1) - alpha) * background;
}

FN Pixel blend(Pixel front, Splat s, real alpha) {
  Pixel result;
  result.channels = front.channels + s.channels * (alpha * front.transmittance);
  result.transmittance = front.transmittance * (real(1) - alpha);
  return result;
}

// Kernels evaluate the same alpha as a power of 2: log2(e) is folded into the conic and log2(o) into the constant, so
// that with d = pixel centre - mean
//
//   alpha = 2^y,   y = log2 o + a d.x^2 + b d.x d.y + c d.y^2,   (a, b, c) = -log2(e) (Q.xx / 2, Q.xy, Q.yy / 2)
//
// A splat is skipped where y < log2(1/255): one comparison, before any exponential. Clamping y clamps alpha. The limits
// are log2(alpha_max) and log2 o; only rounding lets y exceed the latter, but far from the mean of a long needle it can
// do so by any amount.

CONST(real, min_exponent, -7.994353436858858)  // log2(1/255)

struct FoldedSplat {
  vec2 mean_px;
  vec3 curve;  // (a, b, c)
  real log2_opacity;
  real max_exponent;
};

FN vec3 fold_conic(vec3 conic) {
  return vec3(real(-0.5) * log2_e * conic.x, -log2_e * conic.y, real(-0.5) * log2_e * conic.z);
}

FN vec3 unfold_conic(vec3 curve) {
  return vec3(real(-2) * ln_2 * curve.x, -ln_2 * curve.y, real(-2) * ln_2 * curve.z);
}

// log2_opacity and log2_alpha_max are the logarithms to base 2 of the opacity and of alpha_max.
FN FoldedSplat fold(vec2 mean_px, vec3 conic, real log2_opacity, real log2_alpha_max) {
  FoldedSplat s;
  s.mean_px = mean_px;
  s.curve = fold_conic(conic);
  s.log2_opacity = log2_opacity;
  s.max_exponent = min(log2_opacity, log2_alpha_max);
  return s;
}

FN real folded_exponent(FoldedSplat s, vec2 pixel) {  // y
  vec2 d = pixel - s.mean_px;
  return s.log2_opacity + s.curve.x * d.x * d.x + s.curve.y * d.x * d.y + s.curve.z * d.y * d.y;
}

// The sums over pixels from which splat_gradient() computes the gradient of a splat; factors common to all pixels are
// left out. With q = alpha dL_dalpha, or 0 where alpha is clamped, and d = pixel centre - mean, they are sums of q
// times powers of d.
struct SplatMoments {
  real q;
  vec2 qd;   // q d
  vec3 qdd;  // q (d.x^2, d.x d.y, d.y^2)
  vec4 channels;
};

// Applies the factors common to all pixels.
FN Splat splat_gradient(vec3 conic, real opacity, SplatMoments sum) {
  Splat g;
  g.mean_px = vec2(conic.x * sum.qd.x + conic.y * sum.qd.y, conic.y * sum.qd.x + conic.z * sum.qd.y);
  g.conic = vec3(real(-0.5) * sum.qdd.x, -sum.qdd.y, real(-0.5) * sum.qdd.z);
  g.opacity = sum.q / opacity;
  g.channels = sum.channels;
  return g;
}

// The contribution of one pixel to the gradient with respect to one splat whose alpha there is not 0.
//   front          transmittance in front of the splat
//   behind         everything behind it, including the background, already weighted by its transmittance and
//                  dotted with the gradients: sum_j p_j alpha_j T_j + T_final (background . dL_dchannels)
//   dL_dchannels   gradient of the loss with respect to this pixel's channels
//   dL_dalpha      and with respect to its accumulated alpha; p = channels . dL_dchannels + dL_dalpha
FN SplatMoments blend_moments(real front, real behind, Splat s, vec2 pixel, real alpha_max, vec4 dL_dchannels,
                              real dL_dalpha) {
  real alpha = alpha_at(s, pixel, alpha_max);
  real p = dot(s.channels, dL_dchannels) + dL_dalpha;
  real dL_dthis_alpha = p * front - behind / (real(1) - alpha);
  vec2 d = pixel - s.mean_px;

  SplatMoments m;
  m.q = select(unclamped_alpha(s, pixel) < alpha_max, alpha * dL_dthis_alpha, real(0));  // a clamped alpha is constant
  m.qd = d * m.q;
  m.qdd = vec3(d.x * d.x, d.x * d.y, d.y * d.y) * m.q;
  m.channels = dL_dchannels * (alpha * front);
  return m;
}

FN Splat blend_vjp(real front, real behind, Splat s, vec2 pixel, real alpha_max, vec4 dL_dchannels, real dL_dalpha) {
  return splat_gradient(s.conic, s.opacity,
                        blend_moments(front, behind, s, pixel, alpha_max, dL_dchannels, dL_dalpha));
}
