// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tile of the picture while it is being worked on: rows of 16 pixels, one array per channel.
#include <algorithm>
#include <cstdint>
#include <span>

#include "stipple/backend/backend.h"

namespace stipple::cpu {

constexpr int kTile = Math<float>::tile_size_px;
constexpr int kTilePixels = kTile * kTile;
constexpr float kRowOffset[kTile] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr int kLiveCheckInterval = 32;  // splats between two looks at which rows are finished
constexpr int kPrefetchDistance = 12;   // splats ahead: enough to hide a cache miss

// Where a tile lies in the picture; the last ones stick out of it.
struct TilePlace {
  int x, y;           // of its first pixel
  int width, height;  // of its part inside the picture

  TilePlace(const TileBins& bins, const Camera& camera, std::size_t tile)
      : x(static_cast<int>(tile % bins.column_count) * kTile),
        y((bins.first_row + static_cast<int>(tile / bins.column_count)) * kTile),
        width(std::min(kTile, camera.width_px - x)),
        height(std::min(kTile, camera.height_px - y)) {}
};

// Transmittance of a pixel is positive while it is being blended; of a finished one it is the negative of the
// final value, and so it is from the start for the pixels of a tile that lie outside the picture.
inline void start_transmittance(const TilePlace& place, float* transmittance) {
  std::fill_n(transmittance, kTilePixels, -1.0f);
  for (int y = 0; y < place.height; ++y) std::fill_n(transmittance + kTile * y, place.width, 1.0f);
}

}  // namespace stipple::cpu
