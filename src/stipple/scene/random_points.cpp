// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/random_points.h"

#include <algorithm>

#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/core/spread.h"
#include "stipple/scene/layout.h"

namespace stipple {

namespace {

constexpr float kNearest = 0.2f, kFarthest = 2.0f;  // times the distance to what a camera looks at
constexpr std::size_t kAnywherePart = 4;            // one point in so many is anywhere in front of a camera
constexpr std::size_t kCandidates = 8;              // for each of the others
constexpr float kManyPart = 2;                      // one camera in so many is many
constexpr std::size_t kMaxCameras = 64;             // that are asked which candidates they see

class PointSampler {
 public:
  explicit PointSampler(std::span<const SceneView> views)
      : views_(views), focus_(focus_of(views)), least_z_(0.1f * camera_spread(views)) {
    for (const std::size_t i : spread(views.size(), kMaxCameras)) asked_.push_back(views[i].camera);
    many_ = static_cast<float>(asked_.size()) / kManyPart;
  }

  Vec3f anywhere(Random& random) const {
    const Camera& camera = views_[random.below(views_.size())].camera;
    const float z = focus_z(camera, focus_, least_z_) * random.uniform(kNearest, kFarthest);
    const float u = random.uniform() * static_cast<float>(camera.width_px);
    const float v = random.uniform() * static_cast<float>(camera.height_px);
    return point_at(camera, {u, v}, z);
  }

  // One of several candidates, drawn by how many cameras see it. Beyond half of the cameras, more make no
  // difference, so that not all points crowd in the middle.
  Vec3f where_many_look(Random& random) const {
    Vec3f chosen(0, 0, 0);
    float sum = 0;
    for (std::size_t i = 0; i < kCandidates; ++i) {
      const Vec3f point = anywhere(random);
      const float seen = std::min(1.0f, (1 + count_that_see(point)) / (1 + many_));
      sum += seen * seen;
      if (random.uniform() * sum < seen * seen) chosen = point;
    }
    return chosen;
  }

 private:
  float count_that_see(Vec3f point) const {
    return static_cast<float>(std::count_if(
        asked_.begin(), asked_.end(), [&](const Camera& c) { return project_point(c, point).has_value(); }));
  }

  std::span<const SceneView> views_;
  Vec3f focus_;
  float least_z_;
  std::vector<Camera> asked_;
  float many_ = 0;  // cameras
};

constexpr std::uint64_t kDrawsPerPoint = 5 * kCandidates + 1;

}  // namespace

Points random_points(std::span<const SceneView> views, std::size_t count, std::uint64_t seed) {
  Points points;
  if (views.empty()) return points;
  const PointSampler sampler(views);
  points.position.resize(count);
  points.color.resize(count);
  parallel_for(
      count,
      [&](std::size_t i) {
        Random random(seed, i * kDrawsPerPoint);
        const auto grey = static_cast<std::uint8_t>(random.below(256));
        points.color[i] = {grey, grey, grey};
        points.position[i] =
            i % kAnywherePart == 0 ? sampler.anywhere(random) : sampler.where_many_look(random);
      },
      256);
  return points;
}

}  // namespace stipple
