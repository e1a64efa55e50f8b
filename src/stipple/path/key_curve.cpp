// SPDX-License-Identifier: Apache-2.0
#include "stipple/path/key_curve.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace stipple {

namespace {

constexpr double kLeastTravel = 1e-6;  // between knots, so that those of equal keys differ, too

}  // namespace

KeyCurve::KeyCurve(std::vector<CameraKey> keys, bool is_closed, double depth)
    : keys_(std::move(keys)), is_closed_(is_closed), depth_(depth) {
  assert(!keys_.empty());
  for (std::size_t i = 1; i < keys_.size(); ++i)
    keys_[i].rotation = beside(keys_[i].rotation, keys_[i - 1].rotation);
}

double KeyCurve::knot_distance(const CameraKey& a, const CameraKey& b) const {
  return std::sqrt(std::max(travel(a, b, depth_), kLeastTravel));
}

double KeyCurve::knot_distance(int segment) const { return knot_distance(key(segment), key(segment + 1)); }

// Key i, from -1 to one past the last. A closed curve wraps around; an open one is extrapolated linearly.
CameraKey KeyCurve::key(int i) const {
  const int n = static_cast<int>(keys_.size());
  const auto inner = [&](int k) { return keys_[static_cast<std::size_t>(k)]; };
  if (is_closed_) return inner((i + n) % n);
  if (i < 0) return mix(inner(1), inner(0), 2);
  if (i >= n) return mix(inner(n - 2), inner(n - 1), 2);
  return inner(i);
}

CameraKey KeyCurve::place(int segment, double share) const {
  CameraKey p[4];
  double knot[4] = {0, 0, 0, 0};
  for (int i = 0; i < 4; ++i) {
    p[i] = key(segment + i - 1);
    if (i == 0) continue;
    p[i].rotation = beside(p[i].rotation, p[i - 1].rotation);  // after a full turn, the sign is reversed
    knot[i] = knot[i - 1] + knot_distance(p[i - 1], p[i]);
  }
  const double at = knot[1] + share * (knot[2] - knot[1]);
  const auto between = [&](const CameraKey& a, int i, const CameraKey& b, int j) {
    return mix(a, b, (at - knot[i]) / (knot[j] - knot[i]));
  };
  const CameraKey a = between(p[0], 0, p[1], 1), b = between(p[1], 1, p[2], 2), c = between(p[2], 2, p[3], 3);
  return between(between(a, 0, b, 2), 1, between(b, 1, c, 3), 2);
}

}  // namespace stipple
