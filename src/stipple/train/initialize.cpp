// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/initialize.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stipple/core/neighbours.h"
#include "stipple/core/random.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr std::size_t kNeighbours = 3;
constexpr float kLeastSquaredDistance = 1e-7f;  // points may coincide

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
  const std::vector<float> distance2 = neighbour_distances2(points.position, kNeighbours);
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
