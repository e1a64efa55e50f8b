// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/view.h"

namespace stipple {

// The options as the shared maths takes them.
inline Math<float>::RenderSettings render_settings(const RenderOptions& options) {
  Math<float>::RenderSettings s;
  s.near_plane = options.near_plane;
  s.blur_px2 = Math<float>::default_blur_px2;
  s.scale_modifier = options.scale_modifier;
  s.alpha_max = options.alpha_max;
  s.antialiased = options.antialiased;
  s.inverse_depth = options.depth == DepthOutput::kInverse;
  return s;
}

// As density_observation() takes it.
inline Vec2f half_size_of(const Camera& camera) {
  return {0.5f * static_cast<float>(camera.width_px), 0.5f * static_cast<float>(camera.height_px)};
}

}  // namespace stipple
