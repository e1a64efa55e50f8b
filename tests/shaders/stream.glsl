// SPDX-License-Identifier: Apache-2.0
// The GLSL side of what every_function.glsl uses; the C++ side is Stream in vulkan_math_test.cpp. The shader that
// includes this file defines take_word() and give_word(). The limits of the inputs only matter where they are drawn,
// which is in C++.
float take(float low, float high) { return uintBitsToFloat(take_word()); }
int take_int(int low, int high) { return int(take_word()); }
uint take_uint() { return take_word(); }
bool take_bool() { return take_word() != 0u; }

vec2 take_vec2(float low, float high) {
  vec2 v;
  v.x = take(low, high);
  v.y = take(low, high);
  return v;
}

vec3 take_vec3(float low, float high) {
  vec3 v;
  for (int i = 0; i < 3; ++i) v[i] = take(low, high);
  return v;
}

vec4 take_vec4(float low, float high) {
  vec4 v;
  for (int i = 0; i < 4; ++i) v[i] = take(low, high);
  return v;
}

vec3 take_log_scale() { return take_vec3(0.0, 0.0); }
vec4 take_rotation() { return take_vec4(0.0, 0.0); }

void give(float v) { give_word(floatBitsToUint(v)); }
void give(int v) { give_word(uint(v)); }
void give(uint v) { give_word(v); }
void give(bool v) { give_word(v ? 1u : 0u); }

#define GIVE(result) give(result);
