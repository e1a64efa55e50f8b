// SPDX-License-Identifier: Apache-2.0
#pragma once
// Everything, besides the Gaussians, that decides what a picture looks like.
#include <algorithm>

#include "stipple/camera/camera.h"

namespace stipple {

enum class DepthOutput { kNone, kExpected, kInverse };

struct RenderOptions {
  Vec3f background{0, 0, 0};
  DepthOutput depth = DepthOutput::kNone;  // what is not asked for costs nothing
  bool antialiased = false;                // dims splats by what the screen blur adds to them
  float scale_modifier = 1;
  float alpha_max = Math<float>::default_alpha_max;
  float near_plane = Math<float>::default_near_plane;  // scene units
  float blur_px2 = Math<float>::default_blur_px2;      // widens every splat to about a pixel
};

enum class OptionRange { kAny, kPositive, kBetween0And1 };

// Calls f(name, value, its range, help) for every option but the depth, which is an output: the
// one list from which the flags of the command, the keyword arguments of Python, and the files of a run are
// made.
template <class Options, class F>
void for_each_render_option(Options& o, F f) {
  using Range = OptionRange;
  f("background", o.background, Range::kAny, "red,green,blue, each from 0 to 1");
  f("antialiased", o.antialiased, Range::kAny, "dim splats by what the screen blur adds to them");
  f("scale_modifier", o.scale_modifier, Range::kPositive, "times the size of every Gaussian");
  f("alpha_max", o.alpha_max, Range::kBetween0And1, "no splat is more opaque than this");
  f("near_plane", o.near_plane, Range::kPositive, "what is nearer is not drawn, in units of the scene");
  f("blur", o.blur_px2, Range::kPositive, "variance, in square pixels, that is added to every splat");
}

// What is wrong with an option's value, to be put behind its name: "must be more than 0". Null when nothing
// is.
const char* range_problem(OptionRange range, float value);
inline const char* range_problem(OptionRange, bool) { return nullptr; }
const char* range_problem(OptionRange range, Vec3f value);

void check(const RenderOptions& options);  // throws OptionError for the first that is out of range

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
