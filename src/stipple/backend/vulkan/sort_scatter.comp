// SPDX-License-Identifier: Apache-2.0
// Radix sort, last step of a pass: each block sorts its keys by the digit, four bits at a time, and writes them behind
// the smaller digits of all blocks and the same digit of earlier blocks. Equal keys keep their order.
#version 460
#include "stipple/backend/vulkan/shared/kernel.glsl"
#include "stipple/backend/vulkan/shared/plan.glsl"
#include "stipple/backend/vulkan/shared/sort_arrays.glsl"
#include "stipple/backend/vulkan/shared/group_scan.glsl"

layout(local_size_x = 256) in;
READ_SPLIT(uint, value, 7, WORD_SHIFT)
WRITE_SPLIT(uint, sorted_key, 11, WORD_SHIFT)
WRITE_SPLIT(uint, sorted_value, 15, WORD_SHIFT)

const uint kItems = kSortBlock / 256;  // of a thread

shared uint block_key[kSortBlock];
shared uint block_value[kSortBlock];
// Each thread counts its keys by four bits. A word has two counters of 16 bits, for values w and w + 8.
shared uint counts[8 * 256];
shared uint begin_from_digit[256];

uint half_of(uint word, uint nibble) { return nibble < 8u ? word & 0xffffu : word >> 16u; }
uint one_of(uint nibble) { return nibble < 8u ? 1u : 1u << 16u; }

// Sorts the block by the four bits from `low` on. A thread has items kItems * thread and so on.
void sort_by_nibble(uint thread, uint low) {
  uint keys[kItems];
  uint values[kItems];
  [[unroll]] for (uint w = 0u; w < 8u; ++w) counts[256u * w + thread] = 0u;
  [[unroll]] for (uint k = 0u; k < kItems; ++k) {
    keys[k] = block_key[kItems * thread + k];
    values[k] = block_value[kItems * thread + k];
    uint nibble = keys[k] >> low & 15u;
    counts[256u * (nibble & 7u) + thread] += one_of(nibble);
  }
  uvec4 mine[2];
  uvec4 total[2];
  [[unroll]] for (uint h = 0u; h < 2u; ++h) {
    [[unroll]] for (uint w = 0u; w < 4u; ++w) mine[h][w] = counts[256u * (4u * h + w) + thread];
    mine[h] = exclusive_scan(mine[h], total[h]);
  }
  // Adds the counts of all smaller values: first those in the low halves, then those in the high halves.
  uint before = 0u;
  [[unroll]] for (uint w = 0u; w < 8u; ++w) {
    mine[w / 4u][w % 4u] += before;
    before += total[w / 4u][w % 4u] & 0xffffu;
  }
  [[unroll]] for (uint w = 0u; w < 8u; ++w) {
    mine[w / 4u][w % 4u] += before << 16u;
    before += total[w / 4u][w % 4u] >> 16u;
    counts[256u * w + thread] = mine[w / 4u][w % 4u];
  }
  barrier();  // until every thread has read its items
  [[unroll]] for (uint k = 0u; k < kItems; ++k) {
    uint nibble = keys[k] >> low & 15u;
    uint at = 256u * (nibble & 7u) + thread;
    uint place = half_of(counts[at], nibble);
    counts[at] += one_of(nibble);
    block_key[place] = keys[k];
    block_value[place] = values[k];
  }
  barrier();
}

void main() {
  uint thread = thread_index();
  for (uint block = gl_WorkGroupID.x; block < block_count(); block += gl_NumWorkGroups.x) {
    uint first = block * kSortBlock;
    uint here = min(key_count() - first, kSortBlock);
    barrier();
    for (uint at = thread; at < kSortBlock; at += 256u) {
      block_key[at] = at < here ? load_key(first + at) : 0xffffffffu;  // sorts to the end
      block_value[at] = at < here ? load_value(first + at) : 0u;
    }
    barrier();
    sort_by_nibble(thread, shift);
    if (bit_count > 4u) sort_by_nibble(thread, shift + 4u);
    for (uint at = thread; at < here; at += 256u) {
      uint digit = digit_of(block_key[at]);
      if (at == 0u || digit != digit_of(block_key[at - 1u])) begin_from_digit[digit] = at;
    }
    barrier();
    for (uint at = thread; at < here; at += 256u) {
      uint digit = digit_of(block_key[at]);
      uint to = counter[digit * block_count() + block] + at - begin_from_digit[digit];
      store_sorted_key(to, block_key[at]);
      store_sorted_value(to, block_value[at]);
    }
  }
}
