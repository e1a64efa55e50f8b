// SPDX-License-Identifier: Apache-2.0
// One Gaussian from its stored parameters to a splat on the screen, and the VJP of it all. Composes the other files.
//
//   stored, alteration --activate--> shape, placed, opacity --footprint--> footprint --splat_of--> splat
//   mean   --view_ray--> direction --harmonic_basis--> basis;   color = color_from_harmonics(sum_k basis_k sh_k)
//
// The sum over coefficients is left to the backends, which stream the coefficients from their own memory: in the
// forward pass for the sum, in the backward pass for dL_dsh_k = basis_k dL_dsum and dL_dbasis_k = sh_k . dL_dsum.

struct StoredGaussian {  // also the type of its gradient
  vec3 mean;
  vec3 log_scale;
  vec4 rotation;
  real logit_opacity;
  PackedCovariance covariance;
};

struct GaussianForm {   // the same for all Gaussians of a scene
  bool has_covariance;  // true: covariance is given, and log_scale and rotation are unused; false: the reverse
  bool is_activated;    // log_scale holds the scale itself, and logit_opacity the opacity
  bool is_altered;      // false: the alteration is unused
};

struct ActiveGaussian {
  Shape shape;  // set only if the covariance is computed from it
  Placed placed;
  real opacity;
  // Set only if the Gaussian is altered, for the VJP: the values before the alteration, and what it multiplied the
  // opacity by.
  vec3 own_scale;
  real own_opacity;
  real total_factor;
  Alteration alteration;
};

// A covariance that is given is not filtered.
FN ActiveGaussian activate(StoredGaussian g, Alteration alteration, GaussianForm form, real scale_modifier) {
  ActiveGaussian a;
  if (form.is_altered) {
    a.alteration = alteration;
    a.total_factor = alteration.opacity_factor;
  }
  a.placed.mean = g.mean;
  if (form.has_covariance) {
    a.placed.covariance = unpack_covariance(g.covariance);
  } else {
    a.shape.scale = form.is_activated ? g.log_scale * scale_modifier : scale_from_log(g.log_scale, scale_modifier);
    if (form.is_altered) {
      Filtered f = filtered(a.shape.scale, alteration.filter_variance);
      a.own_scale = a.shape.scale;
      a.shape.scale = f.scale;
      a.total_factor = a.total_factor * f.dimming;
    }
    a.shape.rotation = g.rotation;
    a.placed.covariance = covariance(a.shape);
  }
  // Computed last, because the code above runs short of registers for vectors of Gaussians.
  a.opacity = form.is_activated ? g.logit_opacity : sigmoid(g.logit_opacity);
  if (form.is_altered) {
    a.own_opacity = a.opacity;
    a.opacity = a.opacity * a.total_factor;
  }
  return a;
}

FN real own_opacity_vjp(real opacity, GaussianForm form, real dL_dopacity) {
  return form.is_activated ? dL_dopacity : sigmoid_vjp(opacity, dL_dopacity);
}

// Unused parameters get a zero gradient.
FN StoredGaussian activate_vjp(ActiveGaussian a, GaussianForm form, real scale_modifier, Placed dL_dplaced,
                               real dL_dopacity) {
  StoredGaussian g;
  g.mean = dL_dplaced.mean;
  if (form.is_altered)
    g.logit_opacity = own_opacity_vjp(a.own_opacity, form, dL_dopacity * a.total_factor);
  else
    g.logit_opacity = own_opacity_vjp(a.opacity, form, dL_dopacity);
  if (form.has_covariance) {
    g.log_scale = vec3(real(0), real(0), real(0));
    g.rotation = vec4(real(0), real(0), real(0), real(0));
    g.covariance = unpack_covariance_vjp(dL_dplaced.covariance);
  } else {
    Shape dL_dshape = covariance_vjp(a.shape, dL_dplaced.covariance);
    vec3 scale = a.shape.scale;
    if (form.is_altered) {
      Filtered dL_dfiltered;
      dL_dfiltered.scale = dL_dshape.scale;
      dL_dfiltered.dimming = dL_dopacity * a.own_opacity * a.alteration.opacity_factor;
      scale = a.own_scale;
      dL_dshape.scale = filtered_vjp(scale, a.alteration.filter_variance, dL_dfiltered);
    }
    g.log_scale = form.is_activated ? dL_dshape.scale * scale_modifier : scale_from_log_vjp(scale, dL_dshape.scale);
    g.rotation = dL_dshape.rotation;
    g.covariance.xx = real(0);
    g.covariance.xy = real(0);
    g.covariance.xz = real(0);
    g.covariance.yy = real(0);
    g.covariance.yz = real(0);
    g.covariance.zz = real(0);
  }
  return g;
}

FN Splat splat_of(Footprint f, vec3 color, RenderSettings settings) {
  Splat s;
  s.mean_px = f.mean_px;
  s.conic = f.conic;
  s.opacity = f.opacity;
  s.channels = vec4(color.x, color.y, color.z, depth_channel(f.depth, settings.inverse_depth));
  return s;
}

// Returns the gradient of the footprint. That of the colour is the first three channels of dL_dsplat.
FN Footprint splat_of_vjp(real depth, RenderSettings settings, Splat dL_dsplat) {
  Footprint g;
  g.mean_px = dL_dsplat.mean_px;
  g.conic = dL_dsplat.conic;
  g.opacity = dL_dsplat.opacity;
  g.depth = depth_channel_vjp(depth, settings.inverse_depth, dL_dsplat.channels.w);
  g.half_extent_px = vec2(real(0), real(0));
  return g;
}

struct GaussianVjp {
  StoredGaussian dL_dstored;  // the colour's contribution to the mean is missing: view_ray_vjp returns it
  Projected dL_dprojected;    // to be passed on to gaussian_camera_vjp
};

// Valid only for a Gaussian that was not culled. `depth` is that of its footprint.
FN GaussianVjp gaussian_vjp(ActiveGaussian g, GaussianForm form, Pinhole camera, RenderSettings settings, real depth,
                            Splat dL_dsplat) {
  FootprintVjp f =
      footprint_vjp(g.placed, g.opacity, camera, settings, splat_of_vjp(depth, settings, dL_dsplat));
  Placed dL_dplaced = project_vjp(g.placed, camera, f.dL_dprojected);
  GaussianVjp result;
  result.dL_dstored = activate_vjp(g, form, settings.scale_modifier, dL_dplaced, f.dL_dopacity);
  result.dL_dprojected = f.dL_dprojected;
  return result;
}

struct ViewRay {  // from the camera's centre to a Gaussian
  vec3 offset;
  vec3 direction;
};

FN ViewRay view_ray(vec3 mean, Pinhole camera) {
  ViewRay v;
  v.offset = view_offset(mean, camera);
  v.direction = view_direction(v.offset);
  return v;
}

// Maps the gradient of the basis to that of the offset, which is also the colour's contribution to that of the mean.
FN vec3 view_ray_vjp(int degree, ViewRay v, HarmonicBasis dL_dbasis) {
  return view_direction_vjp(v.offset, harmonic_basis_vjp(degree, v.direction, dL_dbasis));
}

// The camera affects both the projection of a Gaussian and the direction from which it is seen.
FN Pinhole gaussian_camera_vjp(Placed g, Pinhole camera, Projected dL_dprojected, vec3 dL_doffset) {
  Pinhole dL_dcamera = project_camera_vjp(g, camera, dL_dprojected);
  Pinhole by_color = view_offset_camera_vjp(camera, dL_doffset);
  dL_dcamera.rotation = dL_dcamera.rotation + by_color.rotation;
  dL_dcamera.translation = dL_dcamera.translation + by_color.translation;
  return dL_dcamera;
}
