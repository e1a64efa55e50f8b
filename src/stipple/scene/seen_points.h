// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which points of a scene a camera sees, as far as the points themselves tell.
#include <optional>
#include <span>
#include <vector>

#include "stipple/camera/camera.h"

namespace stipple {

using SeenPoints = std::vector<std::optional<Vec3f>>;  // by point: where the camera sees it (project_point)

SeenPoints see_points(const Camera& camera, std::span<const Vec3f> points);

// The depth of the nearest point in each cell of a view. Cells are large enough that a surface in front of
// others has a point in most of those that it covers.
class FrontDepths {
 public:
  FrontDepths(const Camera& camera, const SeenPoints& seen);

  bool hides(Vec3f p) const;  // p is where the camera sees a point

 private:
  std::size_t cell_of(float px) const { return static_cast<std::size_t>(px / cell_px_); }
  std::size_t index(Vec3f p) const { return cell_of(p.y) * width_ + cell_of(p.x); }

  float cell_px_;
  std::size_t width_;
  std::vector<float> depth_;
};

// Where the camera sees those points that no other seems to hide, in the order of the points.
std::vector<Vec3f> visible_points(const Camera& camera, std::span<const Vec3f> points);

}  // namespace stipple
