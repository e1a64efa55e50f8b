// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/capture.h"

#include <fmt/format.h>

#include <algorithm>

#include "stipple/camera/pose.h"
#include "stipple/core/error.h"

namespace stipple::synth {

namespace {

constexpr float kFocal = 0.95f;  // relative to the image's longer side

void check_range(const char* option, float value, float limit) {
  if (!(0 <= value && value <= limit))
    throw OptionError(option, fmt::format("must be from 0 to {}, not {}", limit, value));
}

}  // namespace

void check(const SynthOptions& options) {
  if (options.view_count < 1)
    throw Error(fmt::format("a scene needs at least 1 view, not {}", options.view_count));
  if (options.width_px < 1 || options.height_px < 1)
    throw Error(
        fmt::format("photos need at least 1 x 1 pixels, not {} x {}", options.width_px, options.height_px));
  check_range("pose_noise", options.pose_noise_degrees, 20);  // beyond these limits nothing can be recognised
  check_range("focal_noise", options.focal_noise, 1);
  check_range("blur", options.blur_px, 100);
  check_range("exposure", options.exposure_stops, 5);
  if (options.passer_by_count < 0 || options.passer_by_count > options.view_count)
    throw OptionError("passers_by", fmt::format("must be from 0 to the number of photos, {}, not {}",
                                                options.view_count, options.passer_by_count));
}

Camera camera_at(Vec3f position, Vec3f target, Vec3f up, const SynthOptions& options) {
  const auto width = static_cast<float>(options.width_px), height = static_cast<float>(options.height_px);
  const float focal_px = kFocal * std::max(width, height);
  return {look_at(position, target, up),
          {focal_px, focal_px},
          {width / 2, height / 2},
          options.width_px,
          options.height_px};
}

}  // namespace stipple::synth
