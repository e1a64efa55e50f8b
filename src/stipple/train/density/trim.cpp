// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/trim.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"
#include "stipple/scene/depth_range.h"

namespace stipple {

namespace {

constexpr float kNearShare = 0.5f;     // of the depth at which a camera's points begin
constexpr float kFarShare = 1.2f;      // of the depth at which they end
constexpr int kConfirmingViews = 2;    // a Gaussian that as many other views could confirm is no stray
constexpr float kLargestShare = 0.5f;  // of the longer side of a picture, for a standard deviation
constexpr float kFaintLogit = -20;
constexpr float kLeastCosine = 0.25f;  // of the angle between a pixel's ray and the optical axis
constexpr std::size_t kGrain = 1 << 12;

}  // namespace

Trimmer::Trimmer(const Scene& scene, std::span<const std::size_t> views) : eyes_(views.size()) {
  parallel_for(views.size(), [&](std::size_t i) {
    const Camera& camera = scene.views[views[i]].camera;
    const DepthRange seen = (scene.has_measured_points() ? depth_range(scene.points, camera) : std::nullopt)
                                .value_or(DepthRange{});
    eyes_[i] = {camera, center_of(camera), kNearShare * seen.near, kFarShare * seen.far};
  });
}

bool Trimmer::is_stray(Vec3f mean) const {
  bool is_near = false;
  for (const Eye& eye : eyes_) {
    const Vec3f offset = mean - eye.center;
    const float farthest = eye.near / kLeastCosine;  // from the centre, at this depth
    if (dot(offset, offset) >= farthest * farthest) continue;
    const std::optional<Vec3f> seen = project_point(eye.camera, mean);
    is_near = seen && seen->z < eye.near;
    if (is_near) break;
  }
  if (!is_near) return false;
  int confirming = 0;
  for (const Eye& eye : eyes_) {
    const std::optional<Vec3f> seen = project_point(eye.camera, mean);
    confirming += seen && seen->z >= eye.near && seen->z < eye.far;
    if (confirming >= kConfirmingViews) return false;
  }
  return true;
}

float Trimmer::largest_scale(Vec3f mean) const {
  float largest = std::numeric_limits<float>::infinity();
  for (const Eye& eye : eyes_)
    if (const std::optional<Vec3f> seen = project_point(eye.camera, mean)) {
      const auto side = static_cast<float>(std::max(eye.camera.width_px, eye.camera.height_px));
      largest = std::min(largest, kLargestShare * side * seen->z / eye.camera.focal_px.x);
    }
  return largest;
}

// Only Gaussians that could be too large for the nearest camera are projected.
void Trimmer::trim(DensityInput& input) const {
  float steepest = 0;  // the most that a unit of size at unit depth covers, relative to the limit
  for (const Eye& eye : eyes_)
    steepest =
        std::max(steepest, eye.camera.focal_px.x / kLargestShare /
                               static_cast<float>(std::max(eye.camera.width_px, eye.camera.height_px)));
  parallel_for(
      input.mean.size(),
      [&](std::size_t i) {
        const Vec3f mean = input.mean[i];
        if (is_stray(mean)) input.logit_opacity[i] = std::min(input.logit_opacity[i], kFaintLogit);
        Vec3f& s = input.log_scale[i];
        const float size = std::exp(std::max({s.x, s.y, s.z}));
        float nearest2 = std::numeric_limits<float>::infinity();
        for (const Eye& eye : eyes_) nearest2 = std::min(nearest2, dot(mean - eye.center, mean - eye.center));
        if (size * steepest <= std::sqrt(nearest2) * kLeastCosine) return;
        const float limit = std::log(largest_scale(mean));
        s = {std::min(s.x, limit), std::min(s.y, limit), std::min(s.z, limit)};
      },
      kGrain);
}

}  // namespace stipple
