// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/near_depth.h"

#include <algorithm>
#include <vector>

#include "stipple/scene/depth_range.h"

namespace stipple {

namespace {

constexpr float kGaussianShare = 0.25f;  // of the picture that floaters may cover

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
  if (scene.has_measured_points())
    if (const std::optional<DepthRange> range = depth_range(scene.points, camera)) return range->near;
  return gaussian_depth(splats, area_px, kGaussianShare);
}

}  // namespace stipple
