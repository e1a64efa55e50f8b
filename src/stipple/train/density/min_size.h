// SPDX-License-Identifier: Apache-2.0
#pragma once
// The size below which no photo shows a Gaussian's extent. Yu et al., "Mip-Splatting", 2024.
#include <span>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

class MinSize {
 public:
  // Where the scales themselves are limited instead of filtered, the limit is this share of the size: the
  // blur on the screen widens every splat already, and at the full size sharp objects lose detail
  // (docs/experiments.md).
  static constexpr float kLimitShare = 0.25f;

  // The standard deviation is to be at least this many pixels in every view that has the mean in its picture,
  // beyond the near plane. 0 pixels mean no limit.
  MinSize(const Scene& scene, std::span<const std::size_t> views, float pixels, float near_plane);

  // In scene units, for a Gaussian with this mean; 0 if no view has it in its picture.
  float at(Vec3f mean) const;
  std::vector<float> at(std::span<const Vec3f> means) const;

 private:
  struct Eye {
    Vec3f axis;  // z = dot(axis, point) + offset
    float offset;
    float per_depth;  // the size of a pixel at depth 1
  };
  float smallest(Vec3f mean, std::size_t& last) const;

  std::vector<Eye> eyes_;
  std::vector<Camera> cameras_;
  float pixels_, near_plane_;
};

}  // namespace stipple
