// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/depth_range.h"

#include "stipple/camera/pose.h"
#include "stipple/core/quantile.h"

namespace stipple {

namespace {

constexpr float kWrongShare = 0.02f;  // of a camera's points, at either end
constexpr std::size_t kFewestPoints = 20;

}  // namespace

std::optional<DepthRange> depth_range(const Points& points, const Camera& camera) {
  std::vector<float> depths;
  for (const Vec3f& point : points.position)
    if (const std::optional<Vec3f> seen = project_point(camera, point)) depths.push_back(seen->z);
  if (depths.size() < kFewestPoints) return {};
  return DepthRange{quantile_of(depths, kWrongShare), quantile_of(depths, 1 - kWrongShare)};
}

}  // namespace stipple
