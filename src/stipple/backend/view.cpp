// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/view.h"

#include <cmath>

#include "stipple/core/error.h"

namespace stipple {

const char* range_problem(OptionRange, Vec3f value) {
  return std::isfinite(value.x + value.y + value.z) ? nullptr : "must hold finite numbers";
}

const char* range_problem(OptionRange range, float value) {  // positive forms, so that NaN fails them
  if (range == OptionRange::kPositive && !(value > 0)) return "must be greater than 0";
  if (range == OptionRange::kBetween0And1 && !(value > 0 && value < 1)) return "must lie between 0 and 1";
  return std::isfinite(value) ? nullptr : "must be finite";
}

void check(const RenderOptions& options) {
  for_each_render_option(options, [](const char* name, const auto& value, OptionRange range, const char*) {
    if (const char* problem = range_problem(range, value)) throw OptionError(name, problem);
  });
}

}  // namespace stipple
