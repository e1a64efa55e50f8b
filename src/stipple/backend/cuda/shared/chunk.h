// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tile's slots are cut into chunks. blend notes the state of the tile's pixels at the start of every chunk
// but the first, its checkpoint; blend_backward then works on all chunks at once, so that no tile, however
// long, keeps the device waiting.
#include <cstddef>

#include "stipple/math/host_device.h"

namespace stipple::cuda {

constexpr int kChunk = 256;  // slots
constexpr int kTilePixels = 256;

// Of a checkpoint, each for every pixel of the tile: transmittance (negative when finished), red, green,
// blue, and the depth when there is one.
STIPPLE_HD constexpr int checkpoint_fields(bool with_depth) { return with_depth ? 5 : 4; }

// Chunks after the tiles' first that this many slots can have at most.
inline std::size_t max_chunk_count(std::size_t slots) { return slots / kChunk; }

}  // namespace stipple::cuda
