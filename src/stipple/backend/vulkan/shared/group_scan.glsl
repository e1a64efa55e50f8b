// SPDX-License-Identifier: Apache-2.0
// Prefix sums over a work group of 256 threads.
#ifdef SUBGROUPS
shared uvec4 scan_part[64];  // of each subgroup; a subgroup has at least four threads

// The sum over the threads before this one, for each component; `total` is that over all.
uvec4 exclusive_scan(uvec4 value, out uvec4 total) {
  barrier();  // until the previous call's parts have been read
  uvec4 through = subgroupInclusiveAdd(value);
  if (gl_SubgroupInvocationID == subgroup_size - 1) scan_part[gl_SubgroupID] = through;
  barrier();
  uvec4 before = uvec4(0);
  total = uvec4(0);
  for (uint i = 0; i < 256 / subgroup_size; ++i) {
    uvec4 part = scan_part[i];
    if (i < gl_SubgroupID) before += part;
    total += part;
  }
  return before + through - value;
}
#else
shared uvec4 scan_value[256];

uvec4 exclusive_scan(uvec4 value, out uvec4 total) {
  uint t = gl_LocalInvocationIndex;
  barrier();
  scan_value[t] = value;
  uvec4 through = value;
  for (uint distance = 1; distance < 256; distance *= 2) {
    barrier();
    uvec4 other = t >= distance ? scan_value[t - distance] : uvec4(0);
    barrier();
    through += other;
    scan_value[t] = through;
  }
  barrier();
  total = scan_value[255];
  return through - value;
}
#endif

uint exclusive_scan(uint value, out uint total) {
  uvec4 all;
  uint before = exclusive_scan(uvec4(value, 0, 0, 0), all).x;
  total = all.x;
  return before;
}
