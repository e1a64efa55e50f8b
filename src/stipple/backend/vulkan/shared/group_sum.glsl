// SPDX-License-Identifier: Apache-2.0
// Sums over a work group of GROUP_THREADS threads, always in the same order. The first thread gets the result.
shared vec4 sum_part[GROUP_THREADS];

vec4 sum_over_group(vec4 value) {
  uint t = gl_LocalInvocationIndex;
  barrier();  // until the previous call's sum has been read
  sum_part[t] = value;
  for (uint half_count = GROUP_THREADS / 2; half_count > 0; half_count /= 2) {
    barrier();
    if (t < half_count) sum_part[t] += sum_part[t + half_count];
  }
  barrier();
  return sum_part[0];
}
