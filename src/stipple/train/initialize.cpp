// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/initialize.h"

#include <algorithm>
#include <cmath>
#include <nanoflann.hpp>
#include <numeric>

#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr std::size_t kNeighbours = 3;
constexpr float kLeastSquaredDistance = 1e-7f;  // points may coincide

struct Cloud {  // the interface that nanoflann requires
  const std::vector<Vec3f>& points;
  std::size_t kdtree_get_point_count() const { return points.size(); }
  float kdtree_get_pt(std::size_t i, std::size_t axis) const { return points[i][static_cast<int>(axis)]; }
  template <class Box>
  bool kdtree_get_bbox(Box&) const {
    return false;
  }
};

using Tree = nanoflann::KDTreeSingleIndexAdaptor<nanoflann::L2_Simple_Adaptor<float, Cloud>, Cloud, 3>;

// The mean squared distance of each point to its nearest neighbours.
std::vector<float> neighbour_distances2(const std::vector<Vec3f>& points) {
  const Cloud cloud{points};
  const Tree tree(3, cloud, nanoflann::KDTreeSingleIndexAdaptorParams(16));
  std::vector<float> mean(points.size(), 0);
  parallel_for(
      points.size(),
      [&](std::size_t i) {
        std::uint32_t index[kNeighbours + 1];
        float distance2[kNeighbours + 1];
        const float query[3] = {points[i].x, points[i].y, points[i].z};
        const std::size_t found = tree.knnSearch(query, kNeighbours + 1, index, distance2);
        float sum = 0;  // the nearest is the point itself, or one at the same position
        for (std::size_t k = 1; k < found; ++k) sum += distance2[k];
        mean[i] = found > 1 ? sum / static_cast<float>(found - 1) : 1.0f;
      },
      256);
  return mean;
}

Points sample(const Points& points, std::size_t count, std::uint64_t seed) {
  std::vector<std::uint32_t> order(points.size());
  std::iota(order.begin(), order.end(), 0u);
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) std::swap(order[i], order[i + random.below(order.size() - i)]);
  std::sort(order.begin(),
            order.begin() + static_cast<std::ptrdiff_t>(count));  // keep the order of the points
  Points chosen;
  for (std::size_t i = 0; i < count; ++i) {
    chosen.position.push_back(points.position[order[i]]);
    chosen.color.push_back(points.color[order[i]]);
  }
  return chosen;
}

}  // namespace

Gaussians initial_gaussians(const Points& all_points, const TrainOptions& options) {
  const bool too_many = options.max_gaussians > 0 && all_points.size() > options.max_gaussians;
  const Points points = too_many ? sample(all_points, options.max_gaussians, options.seed) : all_points;
  const std::vector<float> distance2 = neighbour_distances2(points.position);
  Gaussians g = make_gaussians(points.size(), 0);
  g.mean = points.position;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const float scale = std::sqrt(std::max(distance2[i], kLeastSquaredDistance)) * options.start_scale;
    g.log_scale[i] = Vec3f(1, 1, 1) * std::log(scale);
    g.rotation[i] = {1, 0, 0, 0};
    g.logit_opacity[i] = Math<float>::logit(options.start_opacity);
    for (int c = 0; c < 3; ++c)
      g.sh[i][c] =
          (static_cast<float>(points.color[i][static_cast<std::size_t>(c)]) / 255 - 0.5f) / Math<float>::sh_0;
  }
  return g;
}

}  // namespace stipple
