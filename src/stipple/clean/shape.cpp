// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/shape.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stipple/core/neighbours.h"
#include "stipple/core/quantile.h"
#include "stipple/edit/finite.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr float kRadiusShare = 0.9f;           // of the means lie within the radius of the model
constexpr std::size_t kFewestGaussians = 100;  // of which one can say what is usual among them
constexpr std::size_t kNeighbourCount = 8;     // a pair of floaters has only one neighbour nearby

std::array<float, 3> sorted_scales(const Gaussians& g, std::size_t i) {
  const Vec3f s = Math<float>::scale_from_log(g.log_scale[i], 1);
  std::array<float, 3> scales = {s.x, s.y, s.z};
  std::sort(scales.begin(), scales.end());
  return scales;
}

Vec3f median_of(const std::vector<Vec3f>& points) {
  Vec3f median;
  for (int k = 0; k < 3; ++k) {
    std::vector<float> values(points.size());
    std::transform(points.begin(), points.end(), values.begin(), [k](Vec3f p) { return p[k]; });
    median[k] = quantile_of(std::move(values), 0.5f);
  }
  return median;
}

std::vector<float> distances_from(Vec3f middle, const std::vector<Vec3f>& points) {
  std::vector<float> distances;
  distances.reserve(points.size());
  for (const Vec3f p : points) distances.push_back(std::sqrt(dot(p - middle, p - middle)));
  return distances;
}

// A divisor that is not 0, for models whose Gaussians all coincide.
float positive(float value) { return std::max(value, 1e-30f); }

}  // namespace

ModelShape shape_of(const Gaussians& g) {
  ModelShape model;
  std::vector<Shape>& shapes = model.shapes;
  shapes.resize(g.size());
  std::vector<Vec3f> means;
  std::vector<std::size_t> gaussian_from_row;
  const std::vector<char> is_finite = finite_flags(g);
  for (std::size_t i = 0; i < g.size(); ++i) {
    shapes[i].is_finite = is_finite[i] != 0;
    if (!shapes[i].is_finite) continue;
    means.push_back(g.mean[i]);
    gaussian_from_row.push_back(i);
  }
  if (means.empty()) return model;
  const Vec3f middle = median_of(means);
  const std::vector<float> distance = distances_from(middle, means);
  const float radius = quantile_of(distance, kRadiusShare);
  model.frame = {middle, radius};
  if (means.size() < kFewestGaussians) return model;

  std::vector<float> longest, gap = neighbour_distances2(means, kNeighbourCount);
  for (float& squared : gap) squared = std::sqrt(squared);
  for (const std::size_t i : gaussian_from_row) longest.push_back(sorted_scales(g, i)[2]);
  const float typical_length = quantile_of(longest, 0.5f), typical_gap = quantile_of(gap, 0.5f);
  for (std::size_t row = 0; row < means.size(); ++row) {
    const std::array<float, 3> scale = sorted_scales(g, gaussian_from_row[row]);
    shapes[gaussian_from_row[row]] = {.remoteness = distance[row] / positive(radius),
                                      .bulk = scale[1] / positive(radius),
                                      .reach = scale[1] / positive(distance[row]),
                                      .elongation = scale[2] / positive(scale[1]),
                                      .length = scale[2] / positive(typical_length),
                                      .isolation = gap[row] / positive(std::max(scale[2], typical_gap))};
  }
  return model;
}

}  // namespace stipple
