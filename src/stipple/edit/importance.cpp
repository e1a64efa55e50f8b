// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"
#include "stipple/core/spread.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr std::size_t kMostViews = 64;  // enough to rank Gaussians by, whatever the size of the scene
constexpr std::size_t kGrain = 1 << 12;

// The area of the ellipse through the two longer axes, in scene units.
float area_of(Vec3f log_scale) {
  const float smallest = std::min({log_scale.x, log_scale.y, log_scale.z});
  return std::exp(log_scale.x + log_scale.y + log_scale.z - smallest);
}

// The pixels that an area at the point covers in all views together. A view sees no more of it than its
// whole picture, which matters for Gaussians close to a camera.
float pixels_covered(Vec3f mean, float area, std::span<const Camera> cameras) {
  float sum = 0;
  for (const Camera& camera : cameras) {
    const auto seen = project_point(camera, mean);
    if (!seen) continue;
    const float magnification = camera.focal_px.x * camera.focal_px.y / (seen->z * seen->z);
    const auto picture = static_cast<float>(camera.width_px) * static_cast<float>(camera.height_px);
    sum += std::min(area * magnification, picture);
  }
  return sum;
}

// `area(i)` is the area by which Gaussian i counts.
template <class Area>
std::vector<float> importance_by(const Gaussians& g, const Area& area) {
  std::vector<float> importance(g.size());
  parallel_for(
      g.size(),
      [&](std::size_t i) {
        importance[i] = Math<float>::sigmoid(g.logit_opacity[i]) * area(i);
        if (std::isnan(importance[i])) importance[i] = 0;  // or the order would not be one
      },
      kGrain);
  return importance;
}

std::vector<std::uint32_t> rows_of_highest(const std::vector<float>& importance, std::size_t most) {
  std::vector<std::uint32_t> rows(importance.size());
  std::iota(rows.begin(), rows.end(), 0u);
  most = std::min(most, rows.size());
  const auto end = rows.begin() + static_cast<std::ptrdiff_t>(most);
  std::nth_element(rows.begin(), end, rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return importance[a] != importance[b] ? importance[a] > importance[b] : a < b;
  });
  rows.resize(most);
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

std::vector<float> importance(const Gaussians& g, const Scene& scene, std::span<const std::size_t> views) {
  std::vector<Camera> cameras;
  for (const std::size_t view : spread(views, kMostViews)) cameras.push_back(scene.views[view].camera);
  return importance_by(
      g, [&](std::size_t i) { return pixels_covered(g.mean[i], area_of(g.log_scale[i]), cameras); });
}

std::vector<std::uint32_t> most_important(const Gaussians& g, std::size_t most, const Scene& scene,
                                          std::span<const std::size_t> views) {
  return rows_of_highest(importance(g, scene, views), most);
}

std::vector<std::uint32_t> most_important(const Gaussians& g, std::size_t most) {
  return rows_of_highest(importance_by(g, [&](std::size_t i) { return area_of(g.log_scale[i]); }), most);
}

}  // namespace stipple
