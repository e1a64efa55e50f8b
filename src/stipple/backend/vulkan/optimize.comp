// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step of every float of one parameter array (math/adam.glsl).
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/update.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const uint penalty = 0;  // as in adam_rule.h: of the opacity or of the scale
layout(std430, binding = 0) readonly buffer Parameters {
  ADAM_PARAMETERS
  uint count;         // of floats in the window
  uint per_gaussian;  // floats
  uint base_floats;   // of a Gaussian that have the base rate
  float base_rate;
  float rest_rate;
  float penalty_weight;
  uint visible_only;
  uint view_count;
};
layout(std430, binding = 1) buffer Values { float value[]; };
layout(std430, binding = 2) buffer FirstMoments { float first_moment[]; };
layout(std430, binding = 3) buffer SecondMoments { float second_moment[]; };
layout(std430, binding = 4) readonly buffer Gradients { float gradient[]; };
layout(std430, binding = 5) readonly buffer Statistics { vec2 view_statistics[]; };
layout(std430, binding = 6) readonly buffer Status { uint status[]; };
DEFINE_ADAM_RULE
DEFINE_MAY_UPDATE(status)

void main() {
  uint at = group_index() * 256u + gl_LocalInvocationIndex;
  if (at >= count || !may_update(view_count)) return;
  if (visible_only != 0u && !(view_statistics[at / per_gaussian].y > 0.0)) return;
  float g = gradient[at];
  if (penalty == 1u) g = g + opacity_penalty_vjp(value[at], penalty_weight);
  if (penalty == 2u) g = g + scale_penalty_vjp(value[at], penalty_weight);
  ADAM_IN_PLACE(value, first_moment, second_moment, at, g, at % per_gaussian < base_floats ? base_rate : rest_rate)
}
