// SPDX-License-Identifier: Apache-2.0
// bin, first step: how much work there is, as arguments of indirect dispatches. If the capacity is too small, there is
// none, and the tiles' lists stay empty.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/status.glsl"

layout(local_size_x = 1) in;
layout(std430, binding = 0) readonly buffer Parameters {
  uint splat_capacity;
  uint gaussian_capacity;
  uint pair_capacity;
};
layout(std430, binding = 1) buffer Status { uint status[]; };
layout(std430, binding = 2) writeonly buffer Plan { uint plan[]; };

void write_arguments(uint which, uint items, uint items_per_group) {
  uint groups = items / items_per_group + (items % items_per_group > 0u ? 1u : 0u);
  plan[kPlanArguments + 3u * which] = min(groups, kMaxGroups);
  plan[kPlanArguments + 3u * which + 1u] = 1u;
  plan[kPlanArguments + 3u * which + 2u] = 1u;
}

uint sort_counters(uint items) { return 256u * ((items + kSortBlock - 1u) / kSortBlock); }

void main() {
  bool too_many = status[kPairsHigh] > 0u || status[kPairsLow] > pair_capacity ||
                  status[kGaussians] > gaussian_capacity || status[kSplats] > splat_capacity;
  status[kHasOverflowed] = too_many ? 1u : 0u;
  uint gaussians = too_many ? 0u : status[kGaussians];
  uint pairs = too_many ? 0u : status[kPairsLow];
  plan[kPlanGaussians] = gaussians;
  plan[kPlanPairs] = pairs;
  plan[kPlanSplats] = too_many ? 0u : status[kSplats];
  // In the order of PlanArguments in vulkan_pass.h.
  write_arguments(0u, gaussians, kGroupItems);
  write_arguments(1u, gaussians, kScanBlock);
  write_arguments(2u, gaussians, kSortBlock);
  write_arguments(3u, sort_counters(gaussians), kScanBlock);
  write_arguments(4u, pairs, kGroupItems);
  write_arguments(5u, pairs, kSortBlock);
  write_arguments(6u, sort_counters(pairs), kScanBlock);
}
