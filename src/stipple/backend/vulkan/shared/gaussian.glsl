// SPDX-License-Identifier: Apache-2.0
// Loads Gaussians, for project and its backward pass. Bindings 1 to 8 are theirs; a work group has 64 of them.
layout(constant_id = 2) const int sh_degree = 3;
layout(constant_id = 3) const bool has_color = false;  // instead of coefficients
layout(constant_id = 4) const bool has_covariance = false;  // instead of scales and rotations
layout(constant_id = 5) const bool is_activated = false;
layout(constant_id = 6) const bool is_altered = false;
layout(constant_id = 7) const bool has_filter = false;

layout(std430, binding = 1) PARAMETER_ACCESS buffer Means { float mean[]; };
layout(std430, binding = 2) PARAMETER_ACCESS buffer LogScales { float log_scale[]; };
layout(std430, binding = 3) PARAMETER_ACCESS buffer Rotations { float rotation[]; };
layout(std430, binding = 4) PARAMETER_ACCESS buffer Opacities { float logit_opacity[]; };
layout(std430, binding = 5) PARAMETER_ACCESS buffer Coefficients { float sh[]; };
layout(std430, binding = 6) readonly buffer Colors { float color[]; };
layout(std430, binding = 7) readonly buffer Covariances { float given_covariance[]; };
layout(std430, binding = 8) readonly buffer Filter { float filter_variance[]; };

const int sh_count = (sh_degree + 1) * (sh_degree + 1);
const uint sh_floats = 3 * uint(sh_count);

GaussianForm gaussian_form() {
  GaussianForm f;
  f.has_covariance = has_covariance;
  f.is_activated = is_activated;
  f.is_altered = is_altered;
  return f;
}

vec3 mean_of(uint i) { return vec3(mean[3 * i], mean[3 * i + 1], mean[3 * i + 2]); }

StoredGaussian load_stored(uint i) {
  StoredGaussian stored;
  stored.mean = mean_of(i);
  stored.logit_opacity = logit_opacity[i];
  if (has_covariance) {
    stored.covariance.xx = given_covariance[6 * i];
    stored.covariance.xy = given_covariance[6 * i + 1];
    stored.covariance.xz = given_covariance[6 * i + 2];
    stored.covariance.yy = given_covariance[6 * i + 3];
    stored.covariance.yz = given_covariance[6 * i + 4];
    stored.covariance.zz = given_covariance[6 * i + 5];
  } else {
    stored.log_scale = vec3(log_scale[3 * i], log_scale[3 * i + 1], log_scale[3 * i + 2]);
    stored.rotation = vec4(rotation[4 * i], rotation[4 * i + 1], rotation[4 * i + 2], rotation[4 * i + 3]);
  }
  return stored;
}

// A Gaussian with a value that is not a number is not drawn.
bool has_nan(StoredGaussian g) {
  bool found = has_nan(g.mean) || is_nan(g.logit_opacity);
  if (has_covariance)
    return found || has_nan(vec3(g.covariance.xx, g.covariance.xy, g.covariance.xz)) ||
           has_nan(vec3(g.covariance.yy, g.covariance.yz, g.covariance.zz));
  return found || has_nan(g.log_scale) || has_nan(g.rotation.xyz) || is_nan(g.rotation.w);
}

ActiveGaussian load_gaussian(uint i, float modifier, uint index_in_scene, Dropout dropout) {
  Alteration alteration;
  alteration.filter_variance = 0.0;
  alteration.opacity_factor = 1.0;
  if (is_altered) {
    if (has_filter) alteration.filter_variance = filter_variance[i];
    alteration.opacity_factor = dropout_factor(index_in_scene, dropout);
  }
  return activate(load_stored(i), alteration, gaussian_form(), modifier);
}

// The SH coefficients of the work group's Gaussians. They are contiguous in memory, so that the whole group reads
// them; the odd stride keeps threads that then read their own rows from conflicting.
shared float sh_row[64 * 49];
shared uint sh_wanted[64];

uint sh_row_begin(uint thread) { return thread * (sh_floats | 1u); }

// `first` is the group's first Gaussian. A thread's row is loaded only if its Gaussian is wanted.
void load_sh_rows(uint thread, uint first, bool is_wanted) {
  sh_wanted[thread] = is_wanted ? 1u : 0u;
  barrier();
  for (uint at = thread; at < 64u * sh_floats; at += 64u) {
    uint row = at / sh_floats;
    if (sh_wanted[row] != 0u) sh_row[sh_row_begin(row) + at % sh_floats] = sh[first * sh_floats + at];
  }
  barrier();
}

vec3 sh_of(uint thread, int k) {
  uint at = sh_row_begin(thread) + 3u * uint(k);
  return vec3(sh_row[at], sh_row[at + 1], sh_row[at + 2]);
}
