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
};
layout(std430, binding = 9) readonly buffer Splats { vec4 splat[]; };
layout(std430, binding = 10) readonly buffer SplatGradients { float dL_dsplat[]; };
layout(std430, binding = 11) readonly buffer Absolute { vec2 absolute[]; };
layout(std430, binding = 12) buffer MeanGradients { float dL_dmean[]; };
layout(std430, binding = 13) buffer ScaleGradients { float dL_dlog_scale[]; };
layout(std430, binding = 14) buffer RotationGradients { vec4 dL_drotation[]; };
layout(std430, binding = 15) buffer OpacityGradients { float dL_dlogit_opacity[]; };
layout(std430, binding = 16) buffer CoefficientGradients { float dL_dsh[]; };
layout(std430, binding = 17) buffer ColorGradients { float dL_dcolor[]; };
layout(std430, binding = 18) buffer CovarianceGradients { float dL_dcovariance[]; };
layout(std430, binding = 19) buffer Statistics { vec2 view_statistics[]; };
layout(std430, binding = 20) writeonly buffer CameraSums { vec4 camera_sum[]; };
DEFINE_VIEW_FUNCTIONS

Splat load_splat_gradient(uint i) {
  Splat s;
  uint at = 10u * i;
  s.mean_px = vec2(dL_dsplat[at], dL_dsplat[at + 1u]);
  s.conic = vec3(dL_dsplat[at + 2u], dL_dsplat[at + 3u], dL_dsplat[at + 4u]);
  s.opacity = dL_dsplat[at + 5u];
  s.channels = vec4(dL_dsplat[at + 6u], dL_dsplat[at + 7u], dL_dsplat[at + 8u], dL_dsplat[at + 9u]);
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
  bool is_drawn = i < count && splat[4u * i + 1u].y > 0.0;
  if (!has_color) load_sh_rows(thread, first, is_drawn);
  GaussianGradient gradient = no_gradient();
  HarmonicBasis basis;
  Pinhole dL_dcamera;
  dL_dcamera.rotation = mat3(0.0);
  dL_dcamera.translation = vec3(0.0);
  dL_dcamera.focal_px = dL_dcamera.center_px = vec2(0.0);
  if (is_drawn) {
    vec4 b = splat[4u * i + 1u];
    vec4 c = splat[4u * i + 2u];
    GaussianVjp vjp;
    vec3 dL_doffset;
    ActiveGaussian g = load_gaussian(i, scale_modifier, first_gaussian + i, view_dropout());
    gradient = gaussian_backward(thread, g, view_camera(), view_settings(), c.z, vec3(b.zw, c.x), load_splat_gradient(i),
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
        statistic = density_statistic(has_absolute != 0u ? absolute[i] : load_splat_gradient(i).mean_px,
                                      vec2(half_width, half_height));
      ADD(view_statistics[i], statistic);
    }
  }
  if (wants_camera) store_camera(dL_dcamera);
}
