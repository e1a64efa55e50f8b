// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/near_depth.h"

#include <algorithm>
#include <vector>

#include "stipple/core/quantile.h"

namespace stipple {

namespace {

constexpr float kPointShare = 0.02f;  // of a camera's points that may be wrong
constexpr std::size_t kFewestPoints = 20;
constexpr float kGaussianShare = 0.25f;  // of the picture that floaters may cover

std::vector<float> point_depths(const Points& points, const Camera& camera) {
  std::vector<float> depths;
  for (const Vec3f& point : points.position) {
    const Vec3f p = camera.camera_from_world.rotation * point + camera.camera_from_world.translation;
    const float x = camera.focal_px.x * p.x + camera.center_px.x * p.z,  // in pixels, times the depth
        y = camera.focal_px.y * p.y + camera.center_px.y * p.z;
    if (0 < p.z && 0 <= x && x < static_cast<float>(camera.width_px) * p.z && 0 <= y &&
        y < static_cast<float>(camera.height_px) * p.z)
      depths.push_back(p.z);
  }
  return depths;
}

// The depth in front of which this share of the picture lies.
float gaussian_depth(std::span<const ProjectedSplat> splats, std::span<const float> area_px, float share) {
  std::vector<std::pair<float, float>> area_at;  // depth, area
  double total = 0, before = 0;
  for (std::size_t i = 0; i < splats.size(); ++i)
    if (area_px[i] > 0) {
      area_at.push_back({splats[i].depth, area_px[i]});
      total += static_cast<double>(area_px[i]);
    }
  std::sort(area_at.begin(), area_at.end());
  for (const auto& [depth, area] : area_at) {
    before += static_cast<double>(area);
    if (before >= static_cast<double>(share) * total) return depth;
  }
  return 0;  // the camera sees nothing
}

}  // namespace

float near_depth(const Scene& scene, const Camera& camera, std::span<const ProjectedSplat> splats,
                 std::span<const float> area_px) {
  if (!scene.has_random_points)
    if (std::vector<float> depths = point_depths(scene.points, camera); depths.size() >= kFewestPoints)
      return quantile_of(std::move(depths), kPointShare);
  return gaussian_depth(splats, area_px, kGaussianShare);
}

}  // namespace stipple
