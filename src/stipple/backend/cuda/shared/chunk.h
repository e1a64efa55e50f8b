// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tile's slots are divided into chunks. At the start of every chunk but the first, blend stores the state
// of the tile's pixels, a checkpoint; blend_backward then processes all chunks in parallel, so that the
// device never waits for one tile with many slots.
#include <cstddef>

#include "stipple/math/host_device.h"

namespace stipple::cuda {

constexpr int kChunk = 256;  // slots
constexpr int kTilePixels = 256;

// The number of fields of a checkpoint, each stored for every pixel of the tile: transmittance (negative when
// finished), red, green, blue and, if there is one, depth.
STIPPLE_HD constexpr int checkpoint_fields(bool with_depth) { return with_depth ? 5 : 4; }

// The most chunks that this many slots can have, not counting each tile's first.
inline std::size_t max_chunk_count(std::size_t slots) { return slots / kChunk; }

}  // namespace stipple::cuda
