// SPDX-License-Identifier: Apache-2.0
// The footprint of a projected Gaussian on the screen: its conic, its extent, and whether it is drawn at all.
//
//   B = S + blur I                          the blur widens splats to about a pixel, so that none falls between pixels
//   conic Q = B^-1 = (xx, xy, yy)
//   rho = sqrt(det S / det B)               compensates for the blur; antialiasing multiplies the opacity by it
//   alpha(d) = o exp(-d^T Q d / 2) >= 1/255  only where  d^T Q d <= tau = 2 ln(255 o),
//   so |d.x| <= sqrt(tau B.xx),  |d.y| <= sqrt(tau B.yy)
//
// For rho see Yu et al., "Mip-Splatting", 2024.

CONST(real, default_blur_px2, 0.3)
CONST(real, default_near_plane, 0.2)          // scene units
CONST(real, min_alpha, 0.00392156862745098)   // 1 / 255: below this a splat is skipped
CONST(real, min_compensation2, 1e-12)         // keeps the gradient of rho finite; at rho = 1e-6 nothing is drawn
CONST(real, max_determinant_px4, 1e38)        // a splat with a larger determinant or ...
CONST(real, max_reach_px, 1e18)               // ... a larger extent is culled: float could overflow
CONST(real, min_variance_px2, 1e-20)          // keeps a divisor above 0
CONST(real, max_correlation, 0.9999995)       // of x and y on the screen; see bounded_covariance()

CONST(real, tau_slack, 1e-3)                  // so that rounding never culls what alpha_at() would draw

// The largest d^T Q d at which a splat of this opacity is still drawn: 2 ln(255 o), computed from log2 o.
FN real splat_tau(real log2_opacity) {
  return real(1.3862943611198906) * log2_opacity + real(11.082527090316852) + tau_slack;  // 2 ln 2, 2 ln 255
}

CONST(real, log2_e, 1.4426950408889634)
CONST(real, ln_2, 0.6931471805599453)

FN real log2_of(real x) { return log(x) * log2_e; }

struct Conic {
  vec3 conic;         // (xx, xy, yy), 1 / px^2
  real compensation;  // rho
};

// The determinant of a needle's screen covariance suffers from cancellation: rounding can leave a correlation beyond 1,
// and then alpha would grow without bound along the needle instead of falling off. The bound on the correlation differs
// from 1 by a little more than float can resolve.
FN vec3 bounded_covariance(vec3 S) {
  real limit = sqrt(S.x * S.z) * max_correlation;
  return vec3(S.x, max(min(S.y, limit), -limit), S.z);
}

FN vec3 bounded_covariance_vjp(vec3 S, vec3 dL_dresult) {
  real limit = sqrt(S.x * S.z) * max_correlation;
  real root = max(sqrt(S.x * S.z), real(min_variance_px2));
  real dL_dlimit = select(S.y > limit, dL_dresult.y, select(S.y < -limit, -dL_dresult.y, real(0)));
  vec3 unclamped = dL_dresult;
  vec3 clamped = vec3(dL_dresult.x + dL_dlimit * max_correlation * real(0.5) * S.z / root, real(0),
                      dL_dresult.z + dL_dlimit * max_correlation * real(0.5) * S.x / root);
  return select(abs(S.y) > limit, clamped, unclamped);
}

FN real determinant_of_covariance(vec3 S) { return max(S.x * S.z - S.y * S.y, real(0)); }

// det(S + blur I), expanded so that rounding in det S cannot make it negative.
FN real determinant_of_blurred(vec3 S, real blur) {
  return determinant_of_covariance(S) + blur * (S.x + S.z) + blur * blur;
}

// S must be bounded already.
FN Conic conic_from_bounded(vec3 S, real blur) {
  real det = determinant_of_blurred(S, blur);
  Conic result;
  result.conic = vec3(S.z + blur, -S.y, S.x + blur) * (real(1) / det);
  result.compensation = sqrt(max(determinant_of_covariance(S) / det, real(min_compensation2)));
  return result;
}

FN vec3 conic_from_bounded_vjp(vec3 S, real blur, Conic dL_dresult) {
  real det_S = determinant_of_covariance(S);
  real inverse_det = real(1) / determinant_of_blurred(S, blur);
  vec3 adjugate = vec3(S.z + blur, -S.y, S.x + blur);
  vec3 g = dL_dresult.conic;

  real ratio = det_S * inverse_det;  // rho^2
  real dL_dratio =
      select(ratio > min_compensation2, real(0.5) / sqrt(ratio) * dL_dresult.compensation, real(0));
  real dL_dinverse_det = dot(g, adjugate) + dL_dratio * det_S;
  real dL_ddet = -dL_dinverse_det * inverse_det * inverse_det;
  real dL_ddet_S = select(S.x * S.z - S.y * S.y > real(0), dL_ddet + dL_dratio * inverse_det, real(0));

  vec3 dL_dS = vec3(g.z, -g.y, g.x) * inverse_det;
  dL_dS = dL_dS + vec3(blur, real(0), blur) * dL_ddet;
  return dL_dS + vec3(S.z, real(-2) * S.y, S.x) * dL_ddet_S;
}

FN Conic conic_from_covariance(vec3 S, real blur) { return conic_from_bounded(bounded_covariance(S), blur); }

FN vec3 conic_from_covariance_vjp(vec3 S, real blur, Conic dL_dresult) {
  return bounded_covariance_vjp(S, conic_from_bounded_vjp(bounded_covariance(S), blur, dL_dresult));
}

// What an image depends on besides the Gaussians and the camera. Code that copies settings expands this list, too, so
// that the fields are named in one place only. A Gaussian whose mean is not beyond near_plane is culled.
#define RENDER_SETTINGS(FIELD) \
  FIELD(real, near_plane)      \
  FIELD(real, blur_px2)        \
  FIELD(real, scale_modifier)  \
  FIELD(real, alpha_max)       \
  FIELD(bool, antialiased)

#define SETTING(type, name) type name;
struct RenderSettings {
  RENDER_SETTINGS(SETTING)
  bool inverse_depth;  // blend 1 / z instead of z
};
#undef SETTING

struct Footprint {
  vec2 mean_px;
  vec3 conic;           // (xx, xy, yy), 1 / px^2
  real opacity;         // at the centre; 0 means culled: the other fields must then be ignored
  real depth;           // z in the camera frame, scene units
  vec2 half_extent_px;  // of the bounding box outside which alpha < 1/255; not differentiated
};

// Each culling rule states the condition for being drawn, so that NaN fails it.
FN Footprint footprint(Placed g, real opacity, Pinhole camera, RenderSettings settings) {
  Projected s = project(g, camera);
  Conic c = conic_from_covariance(s.covariance_px2, settings.blur_px2);
  real o = settings.antialiased ? opacity * c.compensation : opacity;
  real tau = splat_tau(log2_of(max(o, real(min_alpha))));
  vec2 reach = vec2(sqrt(tau * (s.covariance_px2.x + settings.blur_px2)),
                    sqrt(tau * (s.covariance_px2.z + settings.blur_px2)));
  real det = determinant_of_blurred(bounded_covariance(s.covariance_px2), settings.blur_px2);
  boolean has_shape =
      det > real(0) && det < max_determinant_px4 && reach.x < max_reach_px && reach.y < max_reach_px;
  boolean in_front = s.depth > settings.near_plane;
  boolean on_screen = s.mean_px.x + reach.x >= real(0.5) && s.mean_px.x - reach.x <= camera.size_px.x - real(0.5) &&
                   s.mean_px.y + reach.y >= real(0.5) && s.mean_px.y - reach.y <= camera.size_px.y - real(0.5);

  Footprint result;
  result.mean_px = s.mean_px;
  result.conic = c.conic;
  result.opacity = select(has_shape && in_front && on_screen && o >= min_alpha, o, real(0));
  result.depth = s.depth;
  result.half_extent_px = reach;
  return result;
}

struct FootprintVjp {
  Projected dL_dprojected;  // to be passed on to project_vjp and project_camera_vjp
  real dL_dopacity;
};

// Valid only for a Gaussian that was not culled.
FN FootprintVjp footprint_vjp(Placed g, real opacity, Pinhole camera, RenderSettings settings, Footprint dL_dresult) {
  Projected s = project(g, camera);
  Conic dL_dconic;
  dL_dconic.conic = dL_dresult.conic;
  dL_dconic.compensation = settings.antialiased ? opacity * dL_dresult.opacity : real(0);

  FootprintVjp result;
  result.dL_dprojected.mean_px = dL_dresult.mean_px;
  result.dL_dprojected.covariance_px2 = conic_from_covariance_vjp(s.covariance_px2, settings.blur_px2, dL_dconic);
  result.dL_dprojected.depth = dL_dresult.depth;
  result.dL_dopacity = dL_dresult.opacity;
  if (settings.antialiased)
    result.dL_dopacity = dL_dresult.opacity * conic_from_covariance(s.covariance_px2, settings.blur_px2).compensation;
  return result;
}
