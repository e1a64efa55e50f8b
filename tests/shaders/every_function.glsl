// SPDX-License-Identifier: Apache-2.0
// Calls every function of math/*.glsl, in the dialect of math.h: one section per file. take() and its relatives return
// the next input, for which they name the limits of ordinary values; GIVE() appends the result of the function that it
// names first. Every case takes the same number of inputs and gives the same number of results.
//
// Included by maths.comp, by shaders_compile.sh, and twice by vulkan_math_test.cpp.

void give(vec2 v) {
  give(v.x);
  give(v.y);
}

void give(vec3 v) {
  give(v.x);
  give(v.y);
  give(v.z);
}

void give(vec4 v) {
  give(v.x);
  give(v.y);
  give(v.z);
  give(v.w);
}

void give(mat3 m) {
  for (int i = 0; i < 3; ++i) give(m[i]);
}

// activation.glsl

void activation_functions() {
  vec3 log_scale = take_log_scale();
  real modifier = take(0.5, 2.0);
  vec3 scale = take_vec3(0.0, 2.0);
  vec3 dL_dscale = take_vec3(-1.0, 1.0);
  real x = take(-6.0, 6.0);
  real y = take(0.01, 0.99);
  real dL_dy = take(-1.0, 1.0);
  GIVE(scale_from_log(log_scale, modifier))
  GIVE(scale_from_log_vjp(scale, dL_dscale))
  GIVE(sigmoid(x))
  GIVE(logit(y))
  GIVE(sigmoid_vjp(y, dL_dy))
}

// covariance.glsl

void give(Shape s) {
  give(s.scale);
  give(s.rotation);
}

void give(PackedCovariance c) {
  give(vec3(c.xx, c.xy, c.xz));
  give(vec3(c.yy, c.yz, c.zz));
}

Shape take_shape() {
  Shape s;
  s.scale = scale_from_log(take_log_scale(), real(1));
  s.rotation = take_rotation();
  return s;
}

PackedCovariance take_packed_covariance() {
  PackedCovariance c;
  c.xx = take(0.1, 1.0);
  c.xy = take(-0.1, 0.1);
  c.xz = take(-0.1, 0.1);
  c.yy = take(0.1, 1.0);
  c.yz = take(-0.1, 0.1);
  c.zz = take(0.1, 1.0);
  return c;
}

// The formulas hold for any matrix; this one is near a rotation.
mat3 take_mat3() {
  mat3 m;
  for (int column = 0; column < 3; ++column)
    for (int row = 0; row < 3; ++row) m[column][row] = column == row ? take(0.8, 1.0) : take(-0.3, 0.3);
  return m;
}

void covariance_functions() {
  Shape shape = take_shape();
  mat3 dL_dmatrix = take_mat3();
  PackedCovariance packed = take_packed_covariance();
  GIVE(is_degenerate_quaternion(shape.rotation))
  GIVE(rotation_from_quaternion(shape.rotation))
  GIVE(rotation_from_quaternion_vjp(shape.rotation, dL_dmatrix))
  GIVE(covariance(shape))
  GIVE(covariance_vjp(shape, dL_dmatrix))
  GIVE(unpack_covariance(packed))
  GIVE(unpack_covariance_vjp(dL_dmatrix))
}

// projection.glsl

void give(Pinhole c) {
  give(c.rotation);
  give(c.translation);
  give(c.focal_px);
  give(c.center_px);
  give(c.size_px);
}

void give(Placed g) {
  give(g.mean);
  give(g.covariance);
}

void give(Projected p) {
  give(p.mean_px);
  give(p.covariance_px2);
  give(p.depth);
}

void give(ProjectionTerms a) {
  give(a.p);
  give(a.inverse_z);
  give(a.slope);
  give(a.clamped);
  give(a.f);
  give(a.C);
  give(a.jx);
  give(a.jy);
}

void give(ProjectionGradient d) {
  give(d.dL_dp);
  give(d.dL_dC);
  give(d.dL_df);
  give(d.dL_dclamped);
}

Pinhole take_camera() {
  Pinhole c;
  c.rotation = take_mat3();
  c.translation = take_vec3(-0.5, 0.5);
  c.translation.z = take(2.0, 5.0);
  c.focal_px = take_vec2(80.0, 200.0);
  c.center_px = take_vec2(40.0, 60.0);
  c.size_px = take_vec2(80.0, 120.0);
  return c;
}

// Some of these are outside the field of view, where the slope is clamped.
Placed take_placed() {
  Placed g;
  g.mean = take_vec3(-1.5, 1.5);
  g.covariance = covariance(take_shape());
  return g;
}

Projected take_projected() {
  Projected p;
  p.mean_px = take_vec2(-1.0, 1.0);
  p.covariance_px2 = take_vec3(-1.0, 1.0);
  p.depth = take(-1.0, 1.0);
  return p;
}

void projection_functions() {
  Pinhole camera = take_camera();
  Placed g = take_placed();
  Projected dL_dresult = take_projected();
  ProjectionTerms terms = projection_terms(g, camera);
  real slope = take(-1.0, 1.0);
  real limit = take(-1.0, 1.0);
  real clamped = take_bool() ? slope : limit;
  real focal = take(80.0, 200.0);
  real dL_dclamped = take(-1.0, 1.0);
  GIVE(slope_limit_low(camera))
  GIVE(slope_limit_high(camera))
  GIVE(projection_terms(g, camera))
  GIVE(project(g, camera))
  GIVE(projection_gradient(terms, camera, dL_dresult))
  GIVE(project_vjp(g, camera, dL_dresult))
  GIVE(clamped_focal_vjp(slope, clamped, focal, dL_dclamped))
  GIVE(clamped_center_vjp(slope, clamped, focal, dL_dclamped))
  GIVE(project_camera_vjp(g, camera, dL_dresult))
}

// footprint.glsl

void give(Conic c) {
  give(c.conic);
  give(c.compensation);
}

void give(Footprint f) {
  give(f.mean_px);
  give(f.conic);
  give(f.opacity);
  give(f.depth);
  give(f.half_extent_px);
}

void give(FootprintVjp f) {
  give(f.dL_dprojected);
  give(f.dL_dopacity);
}

RenderSettings take_settings() {
  RenderSettings s;
  s.near_plane = take(0.1, 2.5);
  s.blur_px2 = take(0.1, 0.5);
  s.scale_modifier = take(0.5, 1.5);
  s.alpha_max = take(0.5, 0.99);
  s.antialiased = take_bool();
  s.inverse_depth = take_bool();
  return s;
}

Footprint take_footprint() {
  Footprint f;
  f.mean_px = take_vec2(0.0, 112.0);
  f.conic = take_vec3(0.02, 1.0);
  f.conic.y = take(-0.018, 0.018);
  f.opacity = take(0.02, 1.0);
  f.depth = take(1.0, 5.0);
  f.half_extent_px = take_vec2(2.0, 40.0);
  return f;
}

void footprint_functions() {
  real log2_opacity = take(-8.0, 0.0);
  real positive = take(0.01, 3.0);
  // Some of these have a correlation that exceeds the bound, and then a determinant below 0.
  vec3 S = take_vec3(0.1, 10.0);
  S.y = take(-3.0, 3.0);
  vec3 dL_dS = take_vec3(-1.0, 1.0);
  real blur = take(0.1, 0.5);
  Conic dL_dconic;
  dL_dconic.conic = take_vec3(-1.0, 1.0);
  dL_dconic.compensation = take(-1.0, 1.0);
  Placed g = take_placed();
  real opacity = take(0.001, 1.0);
  Pinhole camera = take_camera();
  RenderSettings settings = take_settings();
  Footprint dL_dfootprint = take_footprint();
  GIVE(splat_tau(log2_opacity))
  GIVE(log2_of(positive))
  GIVE(bounded_covariance(S))
  GIVE(bounded_covariance_vjp(S, dL_dS))
  GIVE(determinant_of_covariance(S))
  GIVE(determinant_of_blurred(S, blur))
  GIVE(conic_from_bounded(S, blur))
  GIVE(conic_from_bounded_vjp(S, blur, dL_dconic))
  GIVE(conic_from_covariance(S, blur))
  GIVE(conic_from_covariance_vjp(S, blur, dL_dconic))
  GIVE(footprint(g, opacity, camera, settings))
  GIVE(footprint_vjp(g, opacity, camera, settings, dL_dfootprint))
}

// harmonics.glsl

void give(HarmonicBasis h) {
  for (int i = 0; i < 16; ++i) give(h.b[i]);
}

HarmonicBasis take_basis() {
  HarmonicBasis h;
  for (int i = 0; i < 16; ++i) h.b[i] = take(-1.0, 1.0);
  return h;
}

void harmonics_functions() {
  int degree = take_int(0, 3);
  vec3 direction = take_vec3(-0.6, 0.6);
  HarmonicBasis dL_dbasis = take_basis();
  Pinhole camera = take_camera();
  vec3 mean = take_vec3(-1.0, 1.0);
  vec3 offset = take_vec3(-3.0, 3.0);
  vec3 gradient = take_vec3(-1.0, 1.0);
  vec3 sum = take_vec3(-1.0, 1.0);
  bool lifts = take_bool();
  GIVE(harmonic_count(degree))
  GIVE(harmonic_basis(degree, direction))
  GIVE(harmonic_basis_vjp(degree, direction, dL_dbasis))
  GIVE(view_offset(mean, camera))
  GIVE(view_offset_camera_vjp(camera, gradient))
  GIVE(view_direction(offset))
  GIVE(view_direction_vjp(offset, gradient))
  GIVE(color_from_harmonics(sum))
  GIVE(clamped_gradient(gradient.x, lifts))
  GIVE(color_from_harmonics_vjp(color_from_harmonics(sum), gradient, lifts))
}

// blending.glsl

void give(Splat s) {
  give(s.mean_px);
  give(s.conic);
  give(s.opacity);
  give(s.channels);
}

void give(Pixel p) {
  give(p.channels);
  give(p.transmittance);
}

void give(FoldedSplat s) {
  give(s.mean_px);
  give(s.curve);
  give(s.log2_opacity);
  give(s.max_exponent);
}

void give(SplatMoments m) {
  give(m.q);
  give(m.qd);
  give(m.qdd);
  give(m.channels);
}

Splat take_splat() {
  Splat s;
  s.mean_px = take_vec2(6.0, 10.0);
  s.conic = take_vec3(0.05, 0.5);
  s.conic.y = take(-0.04, 0.04);
  s.opacity = take(0.1, 1.0);
  s.channels = take_vec4(0.0, 1.0);
  return s;
}

SplatMoments take_moments() {
  SplatMoments m;
  m.q = take(-1.0, 1.0);
  m.qd = take_vec2(-4.0, 4.0);
  m.qdd = take_vec3(-16.0, 16.0);
  m.channels = take_vec4(-1.0, 1.0);
  return m;
}

FoldedSplat take_folded() {
  FoldedSplat s;
  s.mean_px = take_vec2(0.0, 16.0);
  s.curve = take_vec3(-0.4, -0.02);
  s.curve.y = take(-0.03, 0.03);
  s.log2_opacity = take(-4.0, 0.0);
  s.max_exponent = take(-4.0, 0.0);
  return s;
}

void blending_functions() {
  vec3 color = take_vec3(0.0, 1.0);
  real depth = take(0.5, 5.0);
  bool is_inverse = take_bool();
  real dL_dchannel = take(-1.0, 1.0);
  Splat s = take_splat();
  vec2 pixel = take_vec2(4.0, 12.0);
  real alpha_max = take(0.3, 0.99);
  Pixel front;
  front.channels = take_vec4(0.0, 1.0);
  front.transmittance = take(0.0, 1.0);
  real alpha = take(0.0, 0.99);
  real background = take(0.0, 1.0);
  vec3 curve = take_vec3(-1.0, 0.0);
  FoldedSplat folded = take_folded();
  real log2_opacity = take(-4.0, 0.0);
  SplatMoments moments = take_moments();
  real behind = take(-1.0, 1.0);
  vec4 dL_dchannels = take_vec4(-1.0, 1.0);
  real dL_dalpha = take(-1.0, 1.0);
  GIVE(is_drawable_color(color))
  GIVE(depth_channel(depth, is_inverse))
  GIVE(depth_channel_vjp(depth, is_inverse, dL_dchannel))
  GIVE(falloff_exponent(s, pixel))
  GIVE(unclamped_alpha(s, pixel))
  GIVE(alpha_at(s, pixel, alpha_max))
  GIVE(finishes_pixel(front.transmittance, alpha))
  GIVE(over_background(color.x, alpha, background))
  GIVE(blend(front, s, alpha))
  GIVE(fold_conic(s.conic))
  GIVE(unfold_conic(curve))
  GIVE(fold(s.mean_px, s.conic, log2_opacity, log2_of(alpha_max)))
  GIVE(folded_exponent(folded, pixel))
  GIVE(splat_gradient(s.conic, s.opacity, moments))
  GIVE(blend_moments(front.transmittance, behind, s, pixel, alpha_max, dL_dchannels, dL_dalpha))
  GIVE(blend_vjp(front.transmittance, behind, s, pixel, alpha_max, dL_dchannels, dL_dalpha))
}

// noise.glsl

void give(RandomBits b) {
  give(b.x);
  give(b.y);
  give(b.z);
}

void noise_functions() {
  RandomBits bits;
  bits.x = take_uint();
  bits.y = take_uint();
  bits.z = take_uint();
  real u = take(0.001, 0.999);
  real v = take(0.0, 1.0);
  vec3 mean = take_vec3(-1.0, 1.0);
  vec3 log_scale = take_log_scale();
  vec4 rotation = take_rotation();
  real logit_opacity = take(-8.0, 0.0);
  real amount = take(0.0, 10.0);
  GIVE(mix_bits(bits))
  GIVE(hash_of(bits))
  GIVE(uniform_from_bits(bits.x))
  GIVE(normals_from_uniforms(u, v))
  GIVE(random_bits(bits.x, bits.y, bits.z))
  GIVE(gaussian_noise(bits.x, bits.y, bits.z))
  GIVE(perturbed_mean(mean, log_scale, rotation, logit_opacity, amount, bits.x, bits.y, bits.z))
}

// alteration.glsl

void give(Filtered f) {
  give(f.scale);
  give(f.dimming);
}

// Half of the variances are 0, which means that there is no filter.
real take_variance() {
  real variance = take(0.001, 0.1);
  return take_bool() ? variance : real(0);
}

Dropout take_dropout() {
  Dropout d;
  d.seed_low = take_uint();
  d.seed_high = take_uint();
  d.threshold = take_uint();
  d.first = take_uint();
  d.kept_factor = take(1.0, 2.0);
  return d;
}

void alteration_functions() {
  vec3 scale = take_vec3(0.01, 1.0);
  real variance = take_variance();
  vec3 wide = take_vec3(0.1, 1.0);
  Filtered dL_dfiltered;
  dL_dfiltered.scale = take_vec3(-1.0, 1.0);
  dL_dfiltered.dimming = take(-1.0, 1.0);
  uint gaussian = take_uint();
  Dropout dropout = take_dropout();
  GIVE(widened_scale(scale, variance))
  GIVE(filter_ratio(scale, wide, variance))
  GIVE(filtered(scale, variance))
  GIVE(filtered_vjp(scale, variance, dL_dfiltered))
  GIVE(dropout_factor(gaussian, dropout))
}

// gaussian.glsl

void give(StoredGaussian g) {
  give(g.mean);
  give(g.log_scale);
  give(g.rotation);
  give(g.logit_opacity);
  give(g.covariance);
}

// The other fields are set only if they apply. activate_vjp() depends on them.
void give(ActiveGaussian a) {
  give(a.placed);
  give(a.opacity);
}

void give(GaussianVjp g) {
  give(g.dL_dstored);
  give(g.dL_dprojected);
}

void give(ViewRay v) {
  give(v.offset);
  give(v.direction);
}

StoredGaussian take_stored() {
  StoredGaussian g;
  g.mean = take_vec3(-1.0, 1.0);
  g.log_scale = take_log_scale();
  g.rotation = take_rotation();
  g.logit_opacity = take(-3.0, 3.0);
  g.covariance = take_packed_covariance();
  return g;
}

GaussianForm take_form() {
  GaussianForm f;
  f.has_covariance = take_bool();
  f.is_activated = take_bool();
  f.is_altered = take_bool();
  return f;
}

void gaussian_functions() {
  StoredGaussian stored = take_stored();
  GaussianForm form = take_form();
  Alteration alteration;
  alteration.filter_variance = take_variance();
  alteration.opacity_factor = take(0.0, 2.0);
  Pinhole camera = take_camera();
  RenderSettings settings = take_settings();
  real opacity = take(0.1, 0.9);
  real dL_dopacity = take(-1.0, 1.0);
  Placed dL_dplaced = take_placed();
  Footprint f = take_footprint();
  vec3 color = take_vec3(0.0, 1.0);
  Splat dL_dsplat = take_splat();
  Projected dL_dprojected = take_projected();
  vec3 dL_doffset = take_vec3(-1.0, 1.0);
  int degree = take_int(0, 3);
  HarmonicBasis dL_dbasis = take_basis();
  ActiveGaussian a = activate(stored, alteration, form, settings.scale_modifier);
  ViewRay ray = view_ray(stored.mean, camera);
  GIVE(activate(stored, alteration, form, settings.scale_modifier))
  GIVE(own_opacity_vjp(opacity, form, dL_dopacity))
  GIVE(activate_vjp(a, form, settings.scale_modifier, dL_dplaced, dL_dopacity))
  GIVE(splat_of(f, color, settings))
  GIVE(splat_of_vjp(f.depth, settings, dL_dsplat))
  GIVE(gaussian_vjp(a, form, camera, settings, f.depth, dL_dsplat))
  GIVE(view_ray(stored.mean, camera))
  GIVE(view_ray_vjp(degree, ray, dL_dbasis))
  GIVE(gaussian_camera_vjp(a.placed, camera, dL_dprojected, dL_doffset))
}

// tiles.glsl

void give(TileRange r) {
  give(r.begin);
  give(r.end);
}

void tiles_functions() {
  real low_px = take(-40.0, 140.0);
  real high_px = take(-40.0, 140.0);
  int count = take_int(1, 7);
  Footprint f = take_footprint();
  real tau = take(1.0, 11.0);
  real dy = take(-10.0, 10.0);
  real side = take_bool() ? real(1) : real(-1);
  int row = take_int(0, 6);
  Footprint in_row = f;  // elsewhere, the interval of columns is so short that rounding decides whether it is empty
  in_row.mean_px.y = real(row * tile_size_px) + take(0.0, 16.0);
  FoldedSplat folded = take_folded();
  vec2 center = take_vec2(-10.0, 26.0);
  real half_px = take(0.0, 4.0);
  GIVE(tiles_meeting(low_px, high_px, count))
  GIVE(tile_rows(f, count))
  GIVE(ellipse_x(f.conic, tau, dy, side))
  GIVE(tile_columns(in_row, tau, row, count))
  GIVE(may_reach_box(folded, center, half_px))
}

// similarity.glsl

void give(WindowMeans m) {
  give(vec2(m.x, m.y));
  give(vec3(m.xx, m.yy, m.xy));
}

void similarity_functions() {
  int offset = take_int(-5, 5);
  real x = take(0.0, 1.0);
  real other = take(0.0, 1.0);
  real y = take_bool() ? other : x;
  real dL_dresult = take(-1.0, 1.0);
  WindowMeans m;
  m.x = take(0.0, 0.5);
  m.y = take(0.0, 0.5);
  m.xx = take(0.3, 1.0);
  m.yy = take(0.3, 1.0);
  m.xy = take(0.0, 0.5);
  GIVE(ssim_window_weight(offset))
  GIVE(absolute_difference(x, y))
  GIVE(absolute_difference_vjp(x, y, dL_dresult))
  GIVE(ssim(m))
  GIVE(ssim_vjp(m, dL_dresult))
}

// depth.glsl

void give(DepthPixel p) {
  give(p.inverse_depth);
  give(p.alpha);
}

void depth_functions() {
  DepthPixel p;
  p.inverse_depth = take(0.1, 2.0);
  p.alpha = take(0.0, 1.0);
  real known_inverse_depth = take(0.1, 2.0);
  real dL_derror = take(-1.0, 1.0);
  GIVE(depth_error(p, known_inverse_depth))
  GIVE(depth_error_vjp(p, known_inverse_depth, dL_derror))
}

// adam.glsl

void give(AdamParameter p) {
  give(p.value);
  give(p.first_moment);
  give(p.second_moment);
}

void adam_functions() {
  AdamParameter p;
  p.value = take(-1.0, 1.0);
  p.first_moment = take(-1.0, 1.0);
  p.second_moment = take(0.0, 1.0);
  real gradient = take(-1.0, 1.0);
  AdamRule rule;
  rule.rate = take(0.001, 0.1);
  rule.beta1 = take(0.8, 0.95);
  rule.beta2 = take(0.9, 0.999);
  rule.epsilon = take(0.000001, 0.0001);
  rule.inverse_correction1 = take(1.0, 10.0);
  rule.inverse_correction2 = take(1.0, 100.0);
  real stored = take(-6.0, 2.0);
  real weight = take(0.001, 0.1);
  GIVE(adam(p, gradient, rule))
  GIVE(opacity_penalty_vjp(stored, weight))
  GIVE(scale_penalty_vjp(stored, weight))
}

// moments.glsl

void moments_functions() {
  AdamParameter p;
  p.value = take(-1.0, 1.0);
  p.second_moment = take(0.5, 1.0);
  p.first_moment = take(0.3, 4.0);
  bits32 random = take_uint();
  bits32 stored = take_uint() & 0x7f7f7f7fu;
  GIVE(rounding_bits(random, stored))
  GIVE(unit_bits(stored))
  GIVE(wide_moments(p, random))
  GIVE(with_wide_moments(p.value, stored))
  GIVE(narrow_moments(p, random))
  GIVE(with_narrow_moments(p.value, stored & 0xffffu))
}

// density.glsl

void density_functions() {
  vec2 dL_dmean_px = take_vec2(-1.0, 1.0);
  vec2 half_size_px = take_vec2(40.0, 60.0);
  GIVE(density_statistic(dL_dmean_px, half_size_px))
}

// palette.glsl

void palette_functions() {
  real depth = take(0.1, 10.0);
  real middle = take(0.5, 2.0);
  uint gaussian = take_uint();
  GIVE(depth_color(depth, middle))
  GIVE(gaussian_color(gaussian))
}

#define SECTIONS(SECTION)            \
  SECTION(0u, activation_functions)  \
  SECTION(1u, covariance_functions)  \
  SECTION(2u, projection_functions)  \
  SECTION(3u, footprint_functions)   \
  SECTION(4u, harmonics_functions)   \
  SECTION(5u, blending_functions)    \
  SECTION(6u, noise_functions)       \
  SECTION(7u, alteration_functions)  \
  SECTION(8u, gaussian_functions)    \
  SECTION(9u, tiles_functions)       \
  SECTION(10u, similarity_functions) \
  SECTION(11u, depth_functions)      \
  SECTION(12u, adam_functions)       \
  SECTION(13u, density_functions)    \
  SECTION(14u, palette_functions)    \
  SECTION(15u, moments_functions)

#define EVALUATE(number, functions) \
  if (section == number) functions();
void evaluate(uint section) { SECTIONS(EVALUATE) }
#undef EVALUATE
