// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/view.h"

namespace stipple {

// Copies the fields of RENDER_SETTINGS (math/footprint.glsl) from options, or from settings of another type.
#define STIPPLE_COPY_SETTING(type, name) to.name = from.name;
template <class Settings, class From>
Settings copy_settings(const From& from) {
  Settings to;
  RENDER_SETTINGS(STIPPLE_COPY_SETTING)
  return to;
}
#undef STIPPLE_COPY_SETTING

// Converts the options to the form that the shared maths takes.
template <class Settings = Math<float>::RenderSettings>
Settings render_settings(const RenderOptions& options) {
  Settings s = copy_settings<Settings>(options);
  s.inverse_depth = options.depth == DepthOutput::kInverse;
  return s;
}

// In pixels, for density_statistic().
inline Vec2f half_size_of(const Camera& camera) {
  return {0.5f * static_cast<float>(camera.width_px), 0.5f * static_cast<float>(camera.height_px)};
}

}  // namespace stipple
