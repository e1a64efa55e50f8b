// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/merge_neighbours.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "stipple/camera/pose.h"
#include "stipple/core/curve_order.h"
#include "stipple/core/neighbours.h"
#include "stipple/core/parallel.h"
#include "stipple/edit/principal_axes.h"
#include "stipple/edit/select.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 1 << 12;
constexpr std::size_t kNeighbours = 6;  // that a Gaussian may be merged with

// By how much more a difference of colours counts than a distance: colours that differ by half of their range
// count as much as a distance of one standard deviation.
constexpr double kColorWeight = 4;

// So opaque that it makes no difference, and its logit is not infinite.
constexpr double kMostOpaque = 0.9995;
constexpr double kLeastScale =
    1e-9;  // of the largest scale of the same Gaussian, so that logarithms are finite

using M = Math<double>;

// The projected area of an ellipsoid, averaged over all directions, up to a factor.
double area_of(const Vec3<double>& scale) {
  return scale.x * scale.y + scale.y * scale.z + scale.z * scale.x;
}

struct Moments {
  double opacity;
  double area;
  double weight;  // how much is seen of it
  Vec3<double> mean;
  Mat3<double> covariance;
};

Moments moments_of(const Gaussians& g, std::size_t i) {
  const auto wide = [](const Vec3f& v) { return Vec3<double>(v.x, v.y, v.z); };
  const Vec4f q = g.rotation[i];
  M::Shape shape;
  shape.scale = M::scale_from_log(wide(g.log_scale[i]), 1);
  shape.rotation = {q.x, q.y, q.z, q.w};
  Moments m;
  m.opacity = M::sigmoid(g.logit_opacity[i]);
  m.area = area_of(shape.scale);
  m.weight = m.opacity * m.area;
  m.mean = wide(g.mean[i]);
  m.covariance = M::covariance(shape);
  return m;
}

struct Share {  // of the second one of a pair, by what is seen of both
  double first, second;
};
Share shares(double first, double second) {
  const double sum = first + second;
  return sum > 0 ? Share{first / sum, second / sum} : Share{0.5, 0.5};
}

// Replaces Gaussian i by both together.
void merge(std::size_t i, std::size_t j, Gaussians& g) {
  const Moments a = moments_of(g, i), b = moments_of(g, j);
  const Share share = shares(a.weight, b.weight);
  const Vec3<double> offset = b.mean - a.mean;
  const Vec3<double> mean = a.mean + offset * share.second;
  const PrincipalAxes axes = principal_axes(a.covariance * share.first + b.covariance * share.second +
                                            outerProduct(offset, offset) * (share.first * share.second));
  Vec3<double> scale(std::sqrt(axes.variance.x), std::sqrt(axes.variance.y), std::sqrt(axes.variance.z));
  const double least =
      std::max(kLeastScale * std::max({scale.x, scale.y, scale.z}), std::numeric_limits<double>::min());
  for (int k = 0; k < 3; ++k) scale[k] = std::max(scale[k], least);
  const std::array<double, 4> q = quaternion_from_rotation(axes.rotation);
  // Side by side, both cover the sum of their areas; one behind the other, light passes through both.
  const double side_by_side = (a.weight + b.weight) / area_of(scale);
  const double in_a_row = 1 - (1 - a.opacity) * (1 - b.opacity);
  const double opacity = std::min({side_by_side, in_a_row, kMostOpaque});

  const auto narrow = [](const Vec3<double>& v) {
    return Vec3f(static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z));
  };
  g.mean[i] = narrow(mean);
  g.log_scale[i] = narrow({std::log(scale.x), std::log(scale.y), std::log(scale.z)});
  g.rotation[i] = {static_cast<float>(q[0]), static_cast<float>(q[1]), static_cast<float>(q[2]),
                   static_cast<float>(q[3])};
  g.logit_opacity[i] = static_cast<float>(M::logit(std::max(opacity, 1e-9)));
  const auto n = static_cast<std::size_t>(g.sh_count());
  for (std::size_t k = 0; k < n; ++k)
    g.sh[i * n + k] = g.sh[i * n + k] * static_cast<float>(share.first) +
                      g.sh[j * n + k] * static_cast<float>(share.second);
}

struct Pair {
  float cost;
  std::uint32_t first, second;
};

// What the choice of pairs depends on.
struct Brief {
  Vec3f mean, color;
  float weight;
  float variance;  // mean over all directions
};

std::vector<Brief> briefs_of(const Gaussians& g) {
  const auto n = static_cast<std::size_t>(g.sh_count());
  std::vector<Brief> briefs(g.size());
  parallel_for(
      g.size(),
      [&](std::size_t i) {
        const Vec3f scale = Math<float>::scale_from_log(g.log_scale[i], 1);
        const double area = area_of({scale.x, scale.y, scale.z});
        briefs[i] = {g.mean[i], g.sh[i * n] * Math<float>::sh_0,
                     static_cast<float>(area) * Math<float>::sigmoid(g.logit_opacity[i]),
                     dot(scale, scale) / 3};
      },
      kGrain);
  return briefs;
}

// The sum of squared deviations from the mean of both (Ward, 1963), of places in units of their size and of
// colours.
float cost_of(const Brief& a, const Brief& b) {
  const Share share = shares(a.weight, b.weight);
  const Vec3f offset = b.mean - a.mean, change = b.color - a.color;
  const double variance = share.first * a.variance + share.second * b.variance;
  const double distance2 = dot(offset, offset) / std::max(variance, 1e-30);
  const double cost =
      (a.weight + b.weight) * share.first * share.second * (distance2 + kColorWeight * dot(change, change));
  return static_cast<float>(cost < 1e30 ? cost : 1e30);  // also where a scale is too large for its square
}

std::vector<Pair> possible_pairs(const Gaussians& g) {
  const std::vector<Brief> briefs = briefs_of(g);
  const std::vector<std::uint32_t> neighbours = nearest_neighbours(g.mean, kNeighbours);
  std::vector<Pair> pairs(neighbours.size());
  parallel_for(
      g.size(),
      [&](std::size_t i) {
        for (std::size_t k = i * kNeighbours; k < (i + 1) * kNeighbours; ++k) {
          const std::uint32_t j = neighbours[k];
          if (j == kNoNeighbour) continue;
          const auto low = std::min(static_cast<std::uint32_t>(i), j);
          const auto high = std::max(static_cast<std::uint32_t>(i), j);
          pairs[k] = {cost_of(briefs[low], briefs[high]), low, high};
        }
      },
      kGrain);
  const auto is_none = [](const Pair& pair) { return pair.first == pair.second; };
  pairs.erase(std::remove_if(pairs.begin(), pairs.end(), is_none), pairs.end());
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(a.cost, a.first, a.second) < std::tie(b.cost, b.first, b.second);
  });
  return pairs;
}

// At most `most` pairs without a common member, the cheapest first.
std::vector<Pair> disjoint(const std::vector<Pair>& pairs, std::size_t most, std::vector<char>& is_taken) {
  std::vector<Pair> chosen;
  for (const Pair& pair : pairs) {
    if (chosen.size() == most) break;
    if (is_taken[pair.first] || is_taken[pair.second]) continue;
    is_taken[pair.first] = is_taken[pair.second] = 1;
    chosen.push_back(pair);
  }
  return chosen;
}

std::vector<std::uint32_t> rows_with_a_place(const Gaussians& g) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < g.size(); ++i)
    if (const Vec3f p = g.mean[i]; std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.z))
      rows.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

std::vector<std::uint32_t> first_rows(std::size_t count) {
  std::vector<std::uint32_t> rows(count);
  std::iota(rows.begin(), rows.end(), std::uint32_t{0});
  return rows;
}

}  // namespace

Gaussians merge_neighbours(Gaussians g, std::size_t count) {
  count = std::max<std::size_t>(count, 1);
  if (g.size() <= count) return g;
  // A Gaussian without a place is not drawn, and has no neighbours.
  const std::vector<std::uint32_t> rows = rows_with_a_place(g);
  keep_rows(rows.empty() ? first_rows(1) : rows, g);
  while (g.size() > count) {
    keep_rows(curve_order(g.mean), g);  // neighbours in memory are found faster
    std::vector<char> is_taken(g.size(), 0);
    const std::vector<Pair> pairs = disjoint(possible_pairs(g), g.size() - count, is_taken);
    if (pairs.empty()) {  // all are farther from each other than a float can say
      keep_rows(first_rows(count), g);
      break;
    }
    parallel_for(
        pairs.size(), [&](std::size_t i) { merge(pairs[i].first, pairs[i].second, g); }, kGrain);
    std::vector<char> is_gone(g.size(), 0);
    for (const Pair& pair : pairs) is_gone[pair.second] = 1;
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < g.size(); ++i)
      if (!is_gone[i]) kept.push_back(static_cast<std::uint32_t>(i));
    keep_rows(kept, g);
  }
  return g;
}

}  // namespace stipple
