// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/core/error.h"
#include "stipple/core/quantile.h"
#include "stipple/path/camera_path.h"
#include "stipple/path/path_views.h"
#include "stipple/scene/layout.h"
#include "stipple/scene/random_points.h"

namespace stipple {

namespace {

constexpr float kTurn = 6.2831853f;            // rad
constexpr float kWidestGap = kTurn / 4;        // rad; a capture with wider gaps is an arc
constexpr float kSteepest = 1.4f;              // rad; at the pole itself, up is undefined
constexpr float kFewest = 0.1f, kMost = 0.9f;  // quantiles of the cameras that bound the ellipse
constexpr float kNearness = 24;   // 1/rad^2; weights fall off with a standard deviation of 12 degrees
constexpr float kTowards = 0.5f;  // a camera looks at the focus if the cosine of the angle is larger

struct Polar {
  float azimuth_rad, elevation_rad, distance;
};

// Positions in polar coordinates around the focus.
class Globe {
 public:
  explicit Globe(std::span<const SceneView> views) : focus_(focus_of(views)), axes_(upright_axes(views)) {}

  Polar polar_of(Vec3f place) const {
    const Vec3f d = place - focus_;
    const float x = dot(d, axes_.right), y = dot(d, axes_.back), z = dot(d, axes_.up);
    return {std::atan2(y, x), std::atan2(z, std::hypot(x, y)), std::sqrt(dot(d, d))};
  }

  RigidTransform camera_from_world(Polar at) const {
    const float elevation = std::clamp(at.elevation_rad, -kSteepest, kSteepest);
    const Vec3f level = axes_.right * std::cos(at.azimuth_rad) + axes_.back * std::sin(at.azimuth_rad);
    const Vec3f outwards = level * std::cos(elevation) + axes_.up * std::sin(elevation);
    return look_at(focus_ + outwards * at.distance, focus_, axes_.up);
  }

  bool is_looked_at_by(std::span<const SceneView> views) const {
    std::vector<float> cosines;
    for (const SceneView& v : views)
      cosines.push_back(dot(axis_of(v.camera), normalized(focus_ - center_of(v.camera))));
    return quantile_of(std::move(cosines), 0.5f) > kTowards;
  }

 private:
  Vec3f focus_;
  Axes axes_;
};

struct Gap {  // a range of azimuths without cameras
  float end_rad, width_rad;
};

Gap widest_gap(std::vector<float> azimuths) {
  std::sort(azimuths.begin(), azimuths.end());
  Gap widest{azimuths.front(), azimuths.front() + kTurn - azimuths.back()};
  for (std::size_t i = 1; i < azimuths.size(); ++i)
    if (azimuths[i] - azimuths[i - 1] > widest.width_rad)
      widest = {azimuths[i], azimuths[i] - azimuths[i - 1]};
  return widest;
}

// The orbit around the focus, in azimuth, elevation and distance.
class Loop {
 public:
  explicit Loop(std::vector<Polar> cameras) : cameras_(std::move(cameras)) {
    std::vector<float> azimuths, elevations;
    for (const Polar& c : cameras_) {
      azimuths.push_back(c.azimuth_rad);
      elevations.push_back(c.elevation_rad);
    }
    const Gap gap = widest_gap(azimuths);
    is_circle_ = gap.width_rad <= kWidestGap;
    for (float& a : azimuths)
      if (a < gap.end_rad) a += kTurn;  // so that the arc is one contiguous range
    azimuth_ = range_of(azimuths);
    elevation_ = range_of(elevations);
    median_elevation_rad_ = quantile_of(std::move(elevations), 0.5f);
  }

  Polar at(float angle_rad) const {
    const float azimuth_rad = is_circle_ ? cameras_.front().azimuth_rad + angle_rad
                                         : azimuth_.middle + azimuth_.half * std::sin(angle_rad);
    const float elevation_rad =
        is_circle_ ? median_elevation_rad_ : elevation_.middle + elevation_.half * std::cos(angle_rad);
    return {azimuth_rad, elevation_rad, distance_at(azimuth_rad)};
  }

 private:
  struct Range {
    float middle = 0, half = 0;
  };
  static Range range_of(const std::vector<float>& values) {
    const float low = quantile_of(values, kFewest), high = quantile_of(values, kMost);
    return {(low + high) / 2, (high - low) / 2};
  }

  // The mean distance of the cameras in this direction plus one standard deviation: people walk around long
  // objects on an oval, and a path too close to an object would cut through it.
  float distance_at(float azimuth_rad) const {
    double weights = 0, sum = 0, square_sum = 0;
    for (const Polar& c : cameras_) {
      const double weight = std::exp(kNearness * (std::cos(c.azimuth_rad - azimuth_rad) - 1));
      weights += weight;
      sum += weight * c.distance;
      square_sum += weight * c.distance * c.distance;
    }
    const double mean = sum / weights, variance = square_sum / weights - mean * mean;
    return static_cast<float>(mean + std::sqrt(std::max(variance, 0.0)));
  }

  std::vector<Polar> cameras_;
  bool is_circle_ = false;
  Range azimuth_, elevation_;
  float median_elevation_rad_ = 0;
};

}  // namespace

std::vector<PathFrame> orbit_path(const Scene& scene, int frame_count) {
  assert(frame_count > 0);
  const std::vector<SceneView> views = views_to_follow(scene);
  const Globe globe(views);
  if (!globe.is_looked_at_by(views))
    throw Error(
        fmt::format("{}: the cameras do not look at a common centre to orbit; interpolate between them "
                    "instead",
                    scene.path.string()));
  std::vector<Polar> places;
  for (const SceneView& v : views) places.push_back(globe.polar_of(center_of(v.camera)));
  const Loop loop(std::move(places));
  Camera camera = median_camera(views);
  std::vector<PathFrame> frames;
  for (int i = 0; i < frame_count; ++i) {
    const float angle_rad = kTurn * static_cast<float>(i) / static_cast<float>(frame_count);
    camera.camera_from_world = globe.camera_from_world(loop.at(angle_rad));
    frames.push_back({frame_name(i), camera});
  }
  return frames;
}

}  // namespace stipple
