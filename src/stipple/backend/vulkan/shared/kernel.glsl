// SPDX-License-Identifier: Apache-2.0
// Included by every kernel, after the extensions it needs.
//
// Binding 0 holds the kernel's parameters, and the other bindings its arrays. With SUBGROUPS, a kernel uses subgroup
// operations; every such kernel is also compiled without.
#ifdef SUBGROUPS
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#extension GL_EXT_control_flow_attributes : require
#include "stipple/math/language.glsl"
#include "stipple/math/all.glsl"

layout(constant_id = 0) const uint subgroup_size = 1;
layout(constant_id = 1) const uint piece_log2 = 0;  // see split_array.glsl

layout(push_constant) uniform Slice {
  uint first_group;  // of this dispatch, see Commands::run
};

uint group_index() { return first_group + gl_WorkGroupID.x; }

// The order of threads in a work group: the lanes of a subgroup are consecutive.
uint thread_index() {
#ifdef SUBGROUPS
  return gl_SubgroupID * subgroup_size + gl_SubgroupInvocationID;
#else
  return gl_LocalInvocationIndex;
#endif
}

// Drivers may assume that there is no NaN, and then remove isnan(), isinf() and comparisons that only NaN fails. Bits are
// safe from that.
bool is_finite(float x) { return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u; }
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool has_nan(vec3 v) { return is_nan(v.x) || is_nan(v.y) || is_nan(v.z); }
