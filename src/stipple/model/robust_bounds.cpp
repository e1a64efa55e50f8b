// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/robust_bounds.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stipple/core/spread.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr std::size_t kMostLookedAt = 500'000;
constexpr float kOutside = 0.02f;
constexpr float kMedianDistance = 0.7937f;  // of the points of a unit ball from its centre: (1/2)^(1/3)
constexpr RobustBounds kNothing{{-1, -1, -1}, {1, 1, 1}, {0, 0, 0}, 1};

struct Weighted {
  float value, weight;
};

// The values below which these shares of the weight lie.
std::vector<float> quantiles(std::vector<Weighted> values, const std::vector<float>& shares) {
  std::sort(values.begin(), values.end(), [](Weighted a, Weighted b) { return a.value < b.value; });
  double total = 0;
  for (const Weighted& v : values) total += v.weight;
  std::vector<float> result;
  double below = 0;
  auto at = values.begin();
  for (const float share : shares) {
    while (at + 1 != values.end() && below + at->weight < share * total) below += (at++)->weight;
    result.push_back(at->value);
  }
  return result;
}

bool is_finite(Vec3f v) { return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z); }

}  // namespace

RobustBounds robust_bounds(const Gaussians& g) {
  std::vector<std::size_t> rows;
  for (const std::size_t i : spread(g.size(), kMostLookedAt))
    if (is_finite(g.mean[i]) && std::isfinite(g.logit_opacity[i])) rows.push_back(i);
  if (rows.empty()) return kNothing;

  const auto weighted = [&](const auto& value_of) {
    std::vector<Weighted> values;
    values.reserve(rows.size());
    for (const std::size_t i : rows)
      values.push_back({value_of(g.mean[i]), Math<float>::sigmoid(g.logit_opacity[i])});
    return values;
  };
  RobustBounds bounds;
  for (int k = 0; k < 3; ++k) {
    const auto found =
        quantiles(weighted([k](Vec3f mean) { return mean[k]; }), {kOutside, 0.5f, 1 - kOutside});
    bounds.low[k] = found[0];
    bounds.middle[k] = found[1];
    bounds.high[k] = found[2];
  }
  const auto distance = [&](Vec3f mean) {
    const Vec3f d = mean - bounds.middle;
    return std::sqrt(dot(d, d));
  };
  bounds.radius = quantiles(weighted(distance), {0.5f}).front() / kMedianDistance;
  if (!(bounds.radius > 0) || !std::isfinite(bounds.radius)) bounds.radius = 1;  // all are in one place
  return bounds;
}

}  // namespace stipple
