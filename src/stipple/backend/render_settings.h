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

// Converts the dropout to the form that the shared maths takes.
template <class Result = Math<float>::Dropout>
Result dropout_of(const View& view) {
  const auto low = static_cast<std::uint32_t>(view.dropout.seed);
  const auto high = static_cast<std::uint32_t>(view.dropout.seed >> 32);
  const double rate = static_cast<double>(view.dropout.rate);
  return {low, high, static_cast<std::uint32_t>(rate * 0x1p32), view.dropout.first,
          1 / (1 - view.dropout.rate)};
}

// In pixels, for density_statistic().
inline Vec2f half_size_of(const Camera& camera) {
  return {0.5f * static_cast<float>(camera.width_px), 0.5f * static_cast<float>(camera.height_px)};
}

}  // namespace stipple
