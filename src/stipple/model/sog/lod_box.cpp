// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/lod_box.h"

#include <algorithm>

#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr float kSeenDeviations = 3;  // how far a Gaussian reaches, in standard deviations

}  // namespace

void LodBox::add(const Vec3f& from, const Vec3f& to) {
  for (int k = 0; k < 3; ++k) {
    low[k] = std::min(low[k], from[k]);
    high[k] = std::max(high[k], to[k]);
  }
}

LodBox box_of(const Gaussians& g, std::span<const std::uint32_t> rows) {
  LodBox box;
  for (const std::uint32_t i : rows) {
    Math<float>::Shape shape;
    shape.scale = Math<float>::scale_from_log(g.log_scale[i], 1);
    shape.rotation = g.rotation[i];
    const Mat3f covariance = Math<float>::covariance(shape);
    Vec3f reach;
    for (int k = 0; k < 3; ++k) reach[k] = kSeenDeviations * std::sqrt(covariance[k][k]);
    box.add(g.mean[i] - reach, g.mean[i] + reach);
  }
  return box;
}

}  // namespace stipple
