// SPDX-License-Identifier: Apache-2.0
// optimize: one Adam step of every float whose moments are in one array (math/adam.glsl). Those are `width` of the `row`
// floats that a Gaussian has in an array of parameters, starting at `column`. A thread has one word of 32 bits: the moments
// of one float, or those of two.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"
#include "stipple/backend/vulkan/shared/update.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const uint penalty = 0;  // as in adam_rule.h: of the opacity or of the scale
layout(constant_id = 3) const bool has_narrow_moments = false;  // of 16 bits for each float
layout(std430, binding = 0) readonly buffer Parameters {
  ADAM_PARAMETERS
  uint count;  // of floats in the window
  uint row;
  uint column;
  uint width;
  float rate;
  float penalty_weight;
  uint key;  // see MomentKeys
  uint visible_only;
  uint view_count;
};
layout(std430, binding = 1) buffer Values { float value[]; };
layout(std430, binding = 2) buffer Moments { uint moments[]; };
layout(std430, binding = 3) readonly buffer Gradients { float gradient[]; };
layout(std430, binding = 4) readonly buffer Statistics { vec2 view_statistics[]; };
layout(std430, binding = 5) readonly buffer Status { uint status[]; };
DEFINE_ADAM_RULE
DEFINE_MAY_UPDATE(status)

bool is_updated(uint i) {
  return i < count && (visible_only == 0u || view_statistics[i / width].y > 0.0);
}

uint place_of(uint i) { return i / width * row + column + i % width; }

float penalised_gradient(uint at) {
  float g = gradient[at];
  if (penalty == 1u) g = g + opacity_penalty_vjp(value[at], penalty_weight);
  if (penalty == 2u) g = g + scale_penalty_vjp(value[at], penalty_weight);
  return g;
}

void main() {
  uint word = group_index() * 256u + gl_LocalInvocationIndex;
  if (!may_update(view_count)) return;
  if (!has_narrow_moments) {
    if (!is_updated(word)) return;
    uint at = place_of(word);
    ADAM_IN_PLACE(value, at, moments, word, penalised_gradient(at), rate, rounding_bits(key, word))
    return;
  }
  if (2u * word >= count) return;
  uint pair = moments[word];
  [[unroll]] for (uint half_word = 0u; half_word < 2u; ++half_word) {
    uint i = 2u * word + half_word;
    if (!is_updated(i)) continue;
    uint at = place_of(i);
    ADAM_IN_PAIR(value, at, pair, half_word, penalised_gradient(at), rate, rounding_bits(key, i))
  }
  moments[word] = pair;
}
