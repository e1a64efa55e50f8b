// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Everything besides the Gaussians that determines a rendered image.
#include <algorithm>
#include <cstdint>

#include "stipple/camera/camera.h"

namespace stipple {

enum class DepthOutput { kNone, kExpected, kInverse };

struct RenderOptions {
  Vec3f background{0, 0, 0};
  DepthOutput depth = DepthOutput::kNone;  // no cost if not requested
  bool antialiased = false;                // dim each splat to compensate for its blur
  float scale_modifier = 1;
  float alpha_max = Math<float>::default_alpha_max;
  float near_plane = Math<float>::default_near_plane;  // scene units
  float blur_px2 = Math<float>::default_blur_px2;      // widens every splat to about a pixel
};

enum class OptionRange { kAny, kPositive, kBetween0And1 };

// Calls f(name, value, range, help) for every option except the depth, which is an output. This
// list defines the flags of the command, the keyword arguments in Python and the fields of a run's files.
template <class Options, class F>
void for_each_render_option(Options& o, F f) {
  using Range = OptionRange;
  f("background", o.background, Range::kAny, "background colour as red,green,blue, each from 0 to 1");
  f("antialiased", o.antialiased, Range::kAny, "dim each splat to compensate for the blur");
  f("scale_modifier", o.scale_modifier, Range::kPositive, "scale every Gaussian by this factor");
  f("alpha_max", o.alpha_max, Range::kBetween0And1, "upper limit for the alpha of a splat");
  f("near_plane", o.near_plane, Range::kPositive, "do not draw Gaussians nearer than this, in scene units");
  f("blur", o.blur_px2, Range::kPositive, "variance added to every splat, in square pixels");
}

// What is wrong with an option's value, worded to follow its name: "must be greater than 0". Null when
// nothing is.
const char* range_problem(OptionRange range, float value);
inline const char* range_problem(OptionRange, bool) { return nullptr; }
const char* range_problem(OptionRange range, Vec3f value);

void check(const RenderOptions& options);  // throws OptionError for the first that is out of range

struct TileRows {  // [begin, end)
  int begin, end;
};

// For training: a share of the Gaussians, chosen at random by the seed and their index, is left out, and the
// opacities of the others are divided by 1 - rate.
struct Dropout {
  float rate = 0;  // from 0, which costs nothing, to less than 1
  std::uint64_t seed = 0;
  std::uint32_t first = 0;  // the index of Gaussian 0 in the whole model (ModelPart)
};

constexpr int kNoView = -1;

struct View {
  Camera camera;
  RenderOptions options;
  // Only these rows of tiles are rendered; the rest of the frame is left unchanged. An image that does not
  // fit into the device's memory is rendered band by band.
  TileRows band{0, 1 << 30};
  // Identifies a view of the scene, counted from 0, even if its camera changes. A pass remembers the capacity
  // that each id last needed, so that it does not have to wait for the device to report it.
  int id = kNoView;
  Dropout dropout{};
};

// The part of the band that lies inside the image.
inline TileRows tile_rows_of(const View& view) {
  const int tile = Math<float>::tile_size_px, all = (view.camera.height_px + tile - 1) / tile;
  const int begin = std::clamp(view.band.begin, 0, all);
  return {begin, std::clamp(view.band.end, begin, all)};
}

inline int tile_columns_of(const Camera& camera) {
  return (camera.width_px + Math<float>::tile_size_px - 1) / Math<float>::tile_size_px;
}

}  // namespace stipple
