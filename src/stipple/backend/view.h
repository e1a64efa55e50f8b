// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything, besides the Gaussians, that decides what a picture looks like.
#include <algorithm>

#include "stipple/core/camera.h"

namespace stipple {

enum class DepthOutput { kNone, kExpected, kInverse };

struct RenderOptions {
  Vec3f background{0, 0, 0};
  DepthOutput depth = DepthOutput::kNone;  // what is not asked for costs nothing
  bool antialiased = false;                // dims splats by what the screen blur adds to them
  float scale_modifier = 1;
  float alpha_max = Math<float>::default_alpha_max;
  float near_plane = Math<float>::default_near_plane;  // scene units
};

struct TileRows {  // begin to end - 1
  int begin, end;
};

constexpr int kNoView = -1;

struct View {
  Camera camera;
  RenderOptions options;
  // Only these rows of tiles are drawn, and the rest of the frame is left as it is: a picture for which a
  // device has no room as a whole is drawn in such bands.
  TileRows band{0, 1 << 30};
  // Names one of the views of a scene, counted from 0, whatever its camera is at the moment. A pass remembers
  // by it how much room the view needed the last time, and then never waits for the device to tell.
  int id = kNoView;
};

// Those of the band that the picture has.
inline TileRows tile_rows_of(const View& view) {
  const int tile = Math<float>::tile_size_px, all = (view.camera.height_px + tile - 1) / tile;
  const int begin = std::clamp(view.band.begin, 0, all);
  return {begin, std::clamp(view.band.end, begin, all)};
}

inline int tile_columns_of(const Camera& camera) {
  return (camera.width_px + Math<float>::tile_size_px - 1) / Math<float>::tile_size_px;
}

}  // namespace stipple
