// SPDX-License-Identifier: Apache-2.0
// project_backward: from the splats' gradients to those of the stored parameters and, if wanted, of the camera; one
// thread per Gaussian.
#version 460
#define PARAMETER_ACCESS readonly
#define GROUP_THREADS 64
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/view.glsl"
#include "stipple/backend/vulkan/shared/gaussian.glsl"
#include "stipple/backend/vulkan/shared/gaussian_backward.glsl"
#include "stipple/backend/vulkan/shared/group_sum.glsl"
#include "stipple/backend/vulkan/shared/split_array.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 8) const bool wants_camera = false;
layout(std430, binding = 0) readonly buffer Parameters {
  VIEW_PARAMETERS
  float half_width;
  float half_height;
  uint lifts_clamped;
  uint adds;             // to what the arrays hold, instead of overwriting it
  uint has_statistics;
  uint has_absolute;
  uint first_camera_sum;  // of the window
  uint block_count;       // of all Gaussians
  uint row_capacity;
};
layout(std430, binding = 9) readonly buffer Visible { uvec2 visible[]; };
READ_SPLIT(vec4, splat, 10, VECTOR_SHIFT)
READ_SPLIT(float, dL_dsplat, 14, WORD_SHIFT)
layout(std430, binding = 18) readonly buffer Absolute { vec2 absolute[]; };
layout(std430, binding = 19) buffer MeanGradients { float dL_dmean[]; };
layout(std430, binding = 20) buffer ScaleGradients { float dL_dlog_scale[]; };
layout(std430, binding = 21) buffer RotationGradients { vec4 dL_drotation[]; };
layout(std430, binding = 22) buffer OpacityGradients { float dL_dlogit_opacity[]; };
layout(std430, binding = 23) buffer CoefficientGradients { float dL_dsh[]; };
layout(std430, binding = 24) buffer ColorGradients { float dL_dcolor[]; };
layout(std430, binding = 25) buffer CovarianceGradients { float dL_dcovariance[]; };
layout(std430, binding = 26) buffer Statistics { vec2 view_statistics[]; };
layout(std430, binding = 27) writeonly buffer CameraSums { vec4 camera_sum[]; };
DEFINE_VIEW_FUNCTIONS
#include "stipple/backend/vulkan/shared/visible_row.glsl"

Splat load_splat_gradient(uint row) {
  float g[10];
  [[unroll]] for (uint f = 0u; f < 10u; ++f) g[f] = load_dL_dsplat(10u * row + f);
  Splat s;
  s.mean_px = vec2(g[0], g[1]);
  s.conic = vec3(g[2], g[3], g[4]);
  s.opacity = g[5];
  s.channels = vec4(g[6], g[7], g[8], g[9]);
  return s;
}

#define ADD(target, value) target = adds != 0u ? target + (value) : (value)

void store(uint i, GaussianGradient g) {
  [[unroll]] for (uint c = 0u; c < 3u; ++c) {
    ADD(dL_dmean[3u * i + c], g.stored.mean[c]);
    ADD(dL_dlog_scale[3u * i + c], g.stored.log_scale[c]);
    if (has_color) ADD(dL_dcolor[3u * i + c], g.color[c]);
  }
  ADD(dL_drotation[i], g.stored.rotation);
  ADD(dL_dlogit_opacity[i], g.stored.logit_opacity);
  if (has_covariance) {
    PackedCovariance c = g.stored.covariance;
    float packed[6] = float[6](c.xx, c.xy, c.xz, c.yy, c.yz, c.zz);
    [[unroll]] for (uint k = 0u; k < 6u; ++k) ADD(dL_dcovariance[6u * i + k], packed[k]);
  }
}

void store_camera(Pinhole d) {
  vec4 fields[4];
  fields[0] = vec4(d.rotation[0], d.rotation[1].x);
  fields[1] = vec4(d.rotation[1].yz, d.rotation[2].xy);
  fields[2] = vec4(d.rotation[2].z, d.translation);
  fields[3] = vec4(d.focal_px, d.center_px);
  [[unroll]] for (uint k = 0u; k < 4u; ++k) {
    vec4 sum = sum_over_group(fields[k]);
    if (gl_LocalInvocationIndex == 0u) camera_sum[4u * (first_camera_sum + group_index()) + k] = sum;
  }
}

void main() {
  uint thread = gl_LocalInvocationIndex;
  uint first = group_index() * 64u;
  uint i = first + thread;
  uint gaussian = first_gaussian + i;
  uint row = 0u;
  vec4 b = vec4(0.0);
  if (i < count && has_row(gaussian, block_count, row_capacity)) {
    row = row_of(gaussian);
    b = load_splat(4u * row + 1u);
  }
  bool is_drawn = b.y > 0.0;
  if (!has_color) load_sh_rows(thread, first, is_drawn);
  GaussianGradient gradient = no_gradient();
  HarmonicBasis basis;
  Pinhole dL_dcamera;
  dL_dcamera.rotation = mat3(0.0);
  dL_dcamera.translation = vec3(0.0);
  dL_dcamera.focal_px = dL_dcamera.center_px = vec2(0.0);
  if (is_drawn) {
    vec4 c = load_splat(4u * row + 2u);
    GaussianVjp vjp;
    vec3 dL_doffset;
    ActiveGaussian g = load_gaussian(i, scale_modifier, gaussian, view_dropout());
    gradient = gaussian_backward(thread, g, view_camera(), view_settings(), c.z, vec3(b.zw, c.x), load_splat_gradient(row),
                                 lifts_clamped != 0u, basis, vjp, dL_doffset);
    if (wants_camera) dL_dcamera = gaussian_camera_vjp(g.placed, view_camera(), vjp.dL_dprojected, dL_doffset);
  }
  store_sh_gradients(thread, basis, gradient.sh_sum, is_drawn && !has_color);
  for (uint at = thread; at < 64u * sh_floats; at += 64u) {
    uint row = at / sh_floats;
    if (first + row < count) ADD(dL_dsh[first * sh_floats + at], sh_gradient(row, at % sh_floats));
  }
  if (i < count) {
    store(i, gradient);
    if (has_statistics != 0u) {
      vec2 statistic = vec2(0.0);
      if (is_drawn)
        statistic = density_statistic(has_absolute != 0u ? absolute[row] : load_splat_gradient(row).mean_px,
                                      vec2(half_width, half_height));
      ADD(view_statistics[i], statistic);
    }
  }
  if (wants_camera) store_camera(dL_dcamera);
}
