// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models in a frame whose axes point the other way: formats differ in this more than in anything else.
#include <array>
#include <cstddef>

#include "stipple/core/gaussians.h"

namespace stipple {

// Reverses some of the world's axes. Only signs change, so that flipping twice restores every bit. An odd
// number of axes mirrors the world.
class AxisFlip {
 public:
  AxisFlip(bool x, bool y, bool z);

  Vec3f mean(Vec3f mean) const { return {mean.x * x_, mean.y * y_, mean.z * z_}; }
  // With D the diagonal matrix of signs, a Gaussian's rotation R becomes D R D: a reflection of the
  // Gaussian's own axes, from the right, makes it a rotation again and leaves its shape alone.
  Vec4f rotation(Vec4f q) const { return {q.x, q.y * y_ * z_, q.z * x_ * z_, q.w * x_ * y_}; }
  Vec3f sh(std::size_t k, Vec3f coefficients) const { return coefficients * sh_[k]; }

 private:
  float x_, y_, z_;
  std::array<float, 16> sh_{};
};

void flip_axes(const AxisFlip& flip, Gaussians& gaussians);

}  // namespace stipple
