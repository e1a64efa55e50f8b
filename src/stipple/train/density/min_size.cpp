// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/density/min_size.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 1 << 12;

}  // namespace

MinSize::MinSize(const Scene& scene, std::span<const std::size_t> views, float pixels, float near_plane)
    : pixels_(pixels), near_plane_(near_plane) {
  for (const std::size_t view : views) {
    const Camera& camera = scene.views[view].camera;
    eyes_.push_back({axis_of(camera), camera.camera_from_world.translation.z,
                     1 / std::max(camera.focal_px.x, camera.focal_px.y)});
    cameras_.push_back(camera);
  }
}

// The size of a pixel at the mean, in the view where it is smallest; infinite if there is none. The depth
// alone rules out most views, so the search begins with `last`, the view that was found for the Gaussian
// before: this one is probably close by.
float MinSize::smallest(Vec3f mean, std::size_t& last) const {
  float least = std::numeric_limits<float>::infinity();
  const auto consider = [&](std::size_t i) {
    const Eye& eye = eyes_[i];
    const float z = dot(eye.axis, mean) + eye.offset, size = z * eye.per_depth;
    if (size >= least || !(z > near_plane_) || !project_point(cameras_[i], mean)) return;
    least = size;
    last = i;
  };
  if (last < eyes_.size()) consider(last);
  for (std::size_t i = 0; i < eyes_.size(); ++i) consider(i);
  return least;
}

float MinSize::at(Vec3f mean) const { return at(std::span(&mean, 1))[0]; }

std::vector<float> MinSize::at(std::span<const Vec3f> means) const {
  std::vector<float> sizes(means.size());
  parallel_ranges(means.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    std::size_t last = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const float least = smallest(means[i], last);
      sizes[i] = std::isinf(least) ? 0 : pixels_ * least;
    }
  });
  return sizes;
}

}  // namespace stipple
