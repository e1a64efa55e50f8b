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
  uint harmonics_of_visible_only;
  uint block_count;  // of all Gaussians
  uint row_capacity;
  float mean_rate;
  float scale_rate;
  float rotation_rate;
  float opacity_rate;
  float sh_rate;
  float sh_rest_rate;
  float scale_penalty;
  float opacity_penalty;
  uint mean_key;
  uint scale_key;
  uint rotation_key;
  uint opacity_key;
  uint base_key;
  uint rest_key;
  ADAM_PARAMETERS
};
layout(std430, binding = 9) buffer MeanMoments { uint mean_moments[]; };
layout(std430, binding = 10) buffer ScaleMoments { uint scale_moments[]; };
layout(std430, binding = 11) buffer RotationMoments { uint rotation_moments[]; };
layout(std430, binding = 12) buffer OpacityMoments { uint opacity_moments[]; };
layout(std430, binding = 13) buffer BaseMoments { uint base_moments[]; };
layout(std430, binding = 14) buffer RestMoments { uint rest_moments[]; };  // two of 16 bits in each
layout(std430, binding = 15) readonly buffer Splats { vec4 splat[]; };
layout(std430, binding = 16) buffer Sums { float sum[]; };
layout(std430, binding = 17) readonly buffer SplatGradients { float dL_dsplat[]; };
layout(std430, binding = 18) readonly buffer Absolute { vec2 absolute[]; };
layout(std430, binding = 19) buffer Statistics { vec2 statistics[]; };
layout(std430, binding = 20) readonly buffer Status { uint status[]; };
layout(std430, binding = 21) readonly buffer Visible { uvec2 visible[]; };
#include "stipple/backend/vulkan/shared/visible_row.glsl"
DEFINE_VIEW_FUNCTIONS
DEFINE_ADAM_RULE
DEFINE_MAY_UPDATE(status)

shared float mean_gradient[64 * 3];
shared float scale_gradient[64 * 3];
shared float rotation_gradient[64 * 4];
shared float opacity_gradient[64];
shared uint is_active[64];       // is updated at all
shared uint are_harmonics_active[64];  // its harmonics are

// The splat's gradient, and the gradient of its mean that the density statistics use.
Splat take_gradient(uint row, vec3 conic, float opacity, out vec2 for_statistics) {
  Splat s;
  if (from_sums) {
    float sums[kSumFields];
    [[unroll]] for (uint f = 0u; f < kSumFields; ++f) {
      sums[f] = sum[kSumFields * row + f];
      sum[kSumFields * row + f] = 0.0;  // the next pass expects zeros
    }
    s = splat_gradient(conic, opacity, moments_of(sums));
    for_statistics = has_absolute != 0u ? vec2(sums[kSumAbsolute], sums[kSumAbsolute + 1u]) : s.mean_px;
    return s;
  }
  uint at = 10u * row;
  s.mean_px = vec2(dL_dsplat[at], dL_dsplat[at + 1u]);
  s.conic = vec3(dL_dsplat[at + 2u], dL_dsplat[at + 3u], dL_dsplat[at + 4u]);
  s.opacity = dL_dsplat[at + 5u];
  s.channels = vec4(dL_dsplat[at + 6u], dL_dsplat[at + 7u], dL_dsplat[at + 8u], dL_dsplat[at + 9u]);
  for_statistics = has_absolute != 0u ? absolute[row] : s.mean_px;
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

// Runs `update` for every word of the group's active rows of an array of moments, with `words` of 32 bits per Gaussian;
// `at` counts the group's words, and `place` is that in the array.
#define FOR_EACH_WORD(active, words, update)                      \
  for (uint at = thread; at < 64u * (words); at += 64u) {         \
    uint place = first * (words) + at;                            \
    if (active[at / (words)] != 0u) update                        \
  }

const uint sh_rest = sh_degree > 0 ? sh_floats - 3u : 1u;

// The coefficients after the base colours, two of them at a time. Both may belong to different Gaussians.
void update_rest(uint thread, uint first) {
  for (uint at = thread; at < 32u * sh_rest; at += 64u) {
    uint low_row = 2u * at / sh_rest;
    uint high_row = (2u * at + 1u) / sh_rest;
    if ((are_harmonics_active[low_row] | are_harmonics_active[high_row]) == 0u) continue;
    uint place = first * sh_rest / 2u + at;
    uint pair = rest_moments[place];
    [[unroll]] for (uint half_word = 0u; half_word < 2u; ++half_word) {
      uint row = half_word == 0u ? low_row : high_row;
      if (are_harmonics_active[row] == 0u) continue;
      uint column = 3u + (2u * at + half_word) % sh_rest;
      ADAM_IN_PAIR(sh, (first + row) * sh_floats + column, pair, half_word, sh_gradient(row, column), sh_rest_rate,
                   rounding_bits(rest_key, 2u * place + half_word))
    }
    rest_moments[place] = pair;
  }
}

void main() {
  uint thread = gl_LocalInvocationIndex;
  uint first = group_index() * 64u;
  uint i = first + thread;
  bool may_change = may_update(1u);
  uint gaussian = first_gaussian + i;
  uint row = 0u;
  vec4 b = vec4(0.0);
  if (i < count && has_row(gaussian, block_count, row_capacity)) {
    row = row_of(gaussian);
    b = splat[4u * row + 1u];
  }
  bool is_drawn = b.y > 0.0;
  is_active[thread] = (visible_only != 0u ? is_drawn : i < count) ? 1u : 0u;
  are_harmonics_active[thread] = (harmonics_of_visible_only != 0u ? is_drawn : i < count) ? 1u : 0u;
  load_sh_rows(thread, first, is_drawn);
  GaussianGradient gradient = no_gradient();
  HarmonicBasis basis;
  if (is_drawn) {
    vec4 c = splat[4u * row + 2u];
    vec2 for_statistics;
    Splat dL = take_gradient(row, vec3(splat[4u * row].zw, b.x), b.y, for_statistics);
    GaussianVjp vjp;
    vec3 dL_doffset;
    gradient = gaussian_backward(thread, load_gaussian(i, scale_modifier, gaussian, view_dropout()),
                                 view_camera(), view_settings(), c.z, vec3(b.zw, c.x), dL, lifts_clamped != 0u, basis,
                                 vjp, dL_doffset);
    if (has_statistics != 0u && may_change)
      statistics[i] = statistics[i] + density_statistic(for_statistics, vec2(half_width, half_height));
  }
  store_gradient(thread, gradient.stored);
  store_sh_gradients(thread, basis, gradient.sh_sum, is_drawn);
  if (!may_change) return;
  FOR_EACH_WORD(is_active, 3u, ADAM_IN_PLACE(mean, place, mean_moments, place, mean_gradient[at], mean_rate, rounding_bits(mean_key, place)))
  FOR_EACH_WORD(is_active, 3u, {
    float g = scale_gradient[at];
    if (scale_penalty != 0.0) g = g + scale_penalty_vjp(log_scale[place], scale_penalty);
    ADAM_IN_PLACE(log_scale, place, scale_moments, place, g, scale_rate, rounding_bits(scale_key, place))
  })
  FOR_EACH_WORD(is_active, 4u, ADAM_IN_PLACE(rotation, place, rotation_moments, place, rotation_gradient[at], rotation_rate,
                                  rounding_bits(rotation_key, place)))
  FOR_EACH_WORD(is_active, 1u, {
    float g = opacity_gradient[at];
    if (opacity_penalty != 0.0) g = g + opacity_penalty_vjp(logit_opacity[place], opacity_penalty);
    ADAM_IN_PLACE(logit_opacity, place, opacity_moments, place, g, opacity_rate, rounding_bits(opacity_key, place))
  })
  FOR_EACH_WORD(are_harmonics_active, 3u, ADAM_IN_PLACE(sh, place / 3u * sh_floats + place % 3u, base_moments, place,
                                  sh_gradient(at / 3u, at % 3u), sh_rate, rounding_bits(base_key, place)))
  if (sh_degree > 0) update_rest(thread, first);
}
