// SPDX-License-Identifier: Apache-2.0
#pragma once
// A tile being blended: rows of 16 pixels, one array per channel.
#include <algorithm>
#include <cstdint>
#include <span>

#include "stipple/backend/backend.h"

namespace stipple::cpu {

constexpr int kTile = Math<float>::tile_size_px;
constexpr int kTilePixels = kTile * kTile;
constexpr float kRowOffset[kTile] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr int kLiveCheckInterval = 32;  // slots between checks for finished rows
constexpr int kPrefetchDistance = 12;   // slots ahead; enough to hide a cache miss

// The position of a tile in the image. The last tiles of a row or column may extend beyond the image.
struct TilePlace {
  int x, y;           // of its first pixel
  int width, height;  // of its part inside the image

  TilePlace(const TileBins& bins, const Camera& camera, std::size_t tile)
      : x(static_cast<int>(tile % bins.column_count) * kTile),
        y((bins.first_row + static_cast<int>(tile / bins.column_count)) * kTile),
        width(std::min(kTile, camera.width_px - x)),
        height(std::min(kTile, camera.height_px - y)) {}
};

// The transmittance of a pixel is positive while it is being blended. A finished pixel stores the negative of
// its final value; pixels outside the image are finished from the start.
inline void start_transmittance(const TilePlace& place, float* transmittance) {
  std::fill_n(transmittance, kTilePixels, -1.0f);
  for (int y = 0; y < place.height; ++y) std::fill_n(transmittance + kTile * y, place.width, 1.0f);
}

}  // namespace stipple::cpu
