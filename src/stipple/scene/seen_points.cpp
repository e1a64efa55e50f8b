// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/seen_points.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr float kPointsPerCell = 8;
constexpr float kLeastGap = 1.07f;  // between surfaces: a point that is this many times as deep is hidden
constexpr std::size_t kGrain = 1 << 12;

}  // namespace

SeenPoints see_points(const Camera& camera, std::span<const Vec3f> points) {
  SeenPoints seen(points.size());
  parallel_for(
      points.size(), [&](std::size_t i) { seen[i] = project_point(camera, points[i]); }, kGrain);
  return seen;
}

FrontDepths::FrontDepths(const Camera& camera, const SeenPoints& seen) {
  const auto count = std::ranges::count_if(seen, [](const auto& p) { return p.has_value(); });
  const float area_px2 = static_cast<float>(camera.width_px) * static_cast<float>(camera.height_px);
  cell_px_ = std::max(1.0f, std::sqrt(kPointsPerCell * area_px2 / static_cast<float>(count + 1)));
  width_ = cell_of(static_cast<float>(camera.width_px)) + 1;
  depth_.assign(width_ * (cell_of(static_cast<float>(camera.height_px)) + 1),
                std::numeric_limits<float>::infinity());
  for (const std::optional<Vec3f>& p : seen)
    if (p) depth_[index(*p)] = std::min(depth_[index(*p)], p->z);
}

bool FrontDepths::hides(Vec3f p) const { return p.z > kLeastGap * depth_[index(p)]; }

std::vector<Vec3f> visible_points(const Camera& camera, std::span<const Vec3f> points) {
  const SeenPoints seen = see_points(camera, points);
  const FrontDepths front(camera, seen);
  std::vector<Vec3f> visible;
  for (const std::optional<Vec3f>& p : seen)
    if (p && !front.hides(*p)) visible.push_back(*p);
  return visible;
}

}  // namespace stipple
