// SPDX-License-Identifier: Apache-2.0
// project_backward and optimize in one kernel: the gradients of the parameters never leave the work group. Each group
// has 64 Gaussians, and all of its threads stream the rows of an array together, so that every byte is moved once, in
// order.
#version 460
#define PARAMETER_ACCESS
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/view.glsl"
#include "stipple/backend/vulkan/shared/gaussian.glsl"
#include "stipple/backend/vulkan/shared/gaussian_backward.glsl"
#include "stipple/backend/vulkan/shared/splat_sums.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/update.glsl"

layout(local_size_x = 64) in;
layout(constant_id = 8) const bool from_sums = false;  // otherwise from the splats' gradients
layout(std430, binding = 0) readonly buffer Parameters {
  VIEW_PARAMETERS
  float half_width;
  float half_height;
  uint lifts_clamped;
  uint has_statistics;
  uint has_absolute;
  uint visible_only;
  float mean_rate;
  float scale_rate;
  float rotation_rate;
  float opacity_rate;
  float sh_rate;
  float sh_rest_rate;
  float scale_penalty;
  float opacity_penalty;
  ADAM_PARAMETERS
};
layout(std430, binding = 9) buffer Means1 { float mean1[]; };
layout(std430, binding = 10) buffer LogScales1 { float log_scale1[]; };
layout(std430, binding = 11) buffer Rotations1 { float rotation1[]; };
layout(std430, binding = 12) buffer Opacities1 { float logit_opacity1[]; };
layout(std430, binding = 13) buffer Coefficients1 { float sh1[]; };
layout(std430, binding = 14) buffer Means2 { float mean2[]; };
layout(std430, binding = 15) buffer LogScales2 { float log_scale2[]; };
layout(std430, binding = 16) buffer Rotations2 { float rotation2[]; };
layout(std430, binding = 17) buffer Opacities2 { float logit_opacity2[]; };
layout(std430, binding = 18) buffer Coefficients2 { float sh2[]; };
layout(std430, binding = 19) readonly buffer Splats { vec4 splat[]; };
layout(std430, binding = 20) buffer Sums { float sum[]; };
layout(std430, binding = 21) readonly buffer SplatGradients { float dL_dsplat[]; };
layout(std430, binding = 22) readonly buffer Absolute { vec2 absolute[]; };
layout(std430, binding = 23) buffer Statistics { vec2 statistics[]; };
layout(std430, binding = 24) readonly buffer Status { uint status[]; };
DEFINE_VIEW_FUNCTIONS
DEFINE_ADAM_RULE
DEFINE_MAY_UPDATE(status)

shared float mean_gradient[64 * 3];
shared float scale_gradient[64 * 3];
shared float rotation_gradient[64 * 4];
shared float opacity_gradient[64];
shared uint is_active[64];

// The splat's gradient, and the gradient of its mean that the density statistics use.
Splat take_gradient(uint i, vec3 conic, float opacity, out vec2 for_statistics) {
  Splat s;
  if (from_sums) {
    float sums[kSumFields];
    [[unroll]] for (uint f = 0u; f < kSumFields; ++f) {
      sums[f] = sum[kSumFields * i + f];
      sum[kSumFields * i + f] = 0.0;  // the next pass expects zeros
    }
    s = splat_gradient(conic, opacity, moments_of(sums));
    for_statistics = has_absolute != 0u ? vec2(sums[kSumAbsolute], sums[kSumAbsolute + 1u]) : s.mean_px;
    return s;
  }
  uint at = 10u * i;
  s.mean_px = vec2(dL_dsplat[at], dL_dsplat[at + 1u]);
  s.conic = vec3(dL_dsplat[at + 2u], dL_dsplat[at + 3u], dL_dsplat[at + 4u]);
  s.opacity = dL_dsplat[at + 5u];
  s.channels = vec4(dL_dsplat[at + 6u], dL_dsplat[at + 7u], dL_dsplat[at + 8u], dL_dsplat[at + 9u]);
  for_statistics = has_absolute != 0u ? absolute[i] : s.mean_px;
  return s;
}

void store_gradient(uint thread, StoredGaussian g) {
  [[unroll]] for (uint c = 0u; c < 3u; ++c) {
    mean_gradient[3u * thread + c] = g.mean[c];
    scale_gradient[3u * thread + c] = g.log_scale[c];
  }
  [[unroll]] for (uint c = 0u; c < 4u; ++c) rotation_gradient[4u * thread + c] = g.rotation[c];
  opacity_gradient[thread] = g.logit_opacity;
}

// Runs `update` for every float of the group's rows of an array with `floats` of them per Gaussian; `at` counts the
// group's floats, and `place` is that in the array.
#define FOR_EACH_FLOAT(floats, update)                            \
  for (uint at = thread; at < 64u * (floats); at += 64u) {        \
    uint place = first * (floats) + at;                           \
    if (is_active[at / (floats)] != 0u) update                    \
  }

void main() {
  uint thread = gl_LocalInvocationIndex;
  uint first = group_index() * 64u;
  uint i = first + thread;
  bool may_change = may_update(1u);
  bool is_drawn = i < count && splat[4u * i + 1u].y > 0.0;
  is_active[thread] = (visible_only != 0u ? is_drawn : i < count) ? 1u : 0u;
  load_sh_rows(thread, first, is_drawn);
  GaussianGradient gradient = no_gradient();
  HarmonicBasis basis;
  if (is_drawn) {
    vec4 b = splat[4u * i + 1u];
    vec4 c = splat[4u * i + 2u];
    vec2 for_statistics;
    Splat dL = take_gradient(i, vec3(splat[4u * i].zw, b.x), b.y, for_statistics);
    GaussianVjp vjp;
    vec3 dL_doffset;
    gradient = gaussian_backward(thread, load_gaussian(i, scale_modifier, first_gaussian + i, view_dropout()),
                                 view_camera(), view_settings(), c.z, vec3(b.zw, c.x), dL, lifts_clamped != 0u, basis,
                                 vjp, dL_doffset);
    if (has_statistics != 0u && may_change)
      statistics[i] = statistics[i] + density_statistic(for_statistics, vec2(half_width, half_height));
  }
  store_gradient(thread, gradient.stored);
  store_sh_gradients(thread, basis, gradient.sh_sum, is_drawn);
  if (!may_change) return;
  FOR_EACH_FLOAT(3u, ADAM_IN_PLACE(mean, mean1, mean2, place, mean_gradient[at], mean_rate))
  FOR_EACH_FLOAT(3u, {
    float g = scale_gradient[at];
    if (scale_penalty != 0.0) g = g + scale_penalty_vjp(log_scale[place], scale_penalty);
    ADAM_IN_PLACE(log_scale, log_scale1, log_scale2, place, g, scale_rate)
  })
  FOR_EACH_FLOAT(4u, ADAM_IN_PLACE(rotation, rotation1, rotation2, place, rotation_gradient[at], rotation_rate))
  FOR_EACH_FLOAT(1u, {
    float g = opacity_gradient[at];
    if (opacity_penalty != 0.0) g = g + opacity_penalty_vjp(logit_opacity[place], opacity_penalty);
    ADAM_IN_PLACE(logit_opacity, logit_opacity1, logit_opacity2, place, g, opacity_rate)
  })
  FOR_EACH_FLOAT(sh_floats, ADAM_IN_PLACE(sh, sh1, sh2, place, sh_gradient(at / sh_floats, at % sh_floats),
                                          at % sh_floats < 3u ? sh_rate : sh_rest_rate))
}
