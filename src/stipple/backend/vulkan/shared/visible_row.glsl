// SPDX-License-Identifier: Apache-2.0
// Where the splats of the Gaussians are. Include it after the buffer `visible`, whose vectors are the blocks of 32
// Gaussians (VisibleBlock in pass.h): a mask of those that are shown, and the number of them in all blocks before.
bool is_shown(uint gaussian) { return (visible[gaussian / 32u].x >> (gaussian % 32u) & 1u) != 0u; }

uint row_of(uint gaussian) {
  uvec2 block = visible[gaussian / 32u];
  return block.y + uint(bitCount(block.x & ((1u << (gaussian % 32u)) - 1u)));
}

uint shown_count(uint block_count) {
  uvec2 last = visible[block_count - 1u];
  return last.y + uint(bitCount(last.x));
}

// Whether project has written the row of this Gaussian. If there was not room for all rows, it has written none.
bool has_row(uint gaussian, uint block_count, uint row_capacity) {
  return is_shown(gaussian) && shown_count(block_count) <= row_capacity;
}
