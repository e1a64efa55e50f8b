// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "stipple/camera/pose.h"
#include "stipple/core/quantile.h"
#include "stipple/path/camera_path.h"
#include "stipple/path/key_curve.h"
#include "stipple/path/path_views.h"
#include "stipple/scene/layout.h"
#include "stipple/scene/random_points.h"

namespace stipple {

namespace {

constexpr float kDetour = 2;             // times the nearest-neighbour length: beyond it, names jump around
constexpr double kNearEnd = 1.5;         // times the median step: within it, the path closes
constexpr int kSamples = 32;             // of the curve, per segment between two cameras
constexpr double kSamePlace = 1e-6;      // travel below which two cameras count as one
constexpr std::size_t kMinLoopSize = 3;  // fewest cameras of a closed path

float distance(const SceneView& a, const SceneView& b) {
  const Vec3f d = center_of(a.camera) - center_of(b.camera);
  return std::sqrt(dot(d, d));
}

float path_length(const std::vector<SceneView>& views) {
  float sum = 0;
  for (std::size_t i = 1; i < views.size(); ++i) sum += distance(views[i - 1], views[i]);
  return sum;
}

std::vector<SceneView> by_nearest_neighbour(std::vector<SceneView> views) {
  for (std::size_t i = 1; i < views.size(); ++i) {
    const auto rest = views.begin() + static_cast<std::ptrdiff_t>(i);
    std::iter_swap(rest, std::min_element(rest, views.end(), [&](const SceneView& a, const SceneView& b) {
                     return distance(a, rest[-1]) < distance(b, rest[-1]);
                   }));
  }
  return views;
}

std::vector<SceneView> in_order(std::vector<SceneView> views) {
  std::vector<SceneView> other = by_nearest_neighbour(views);
  return path_length(views) > kDetour * path_length(other) ? other : views;
}

// The keys without those that repeat the one before.
std::vector<CameraKey> distinct_keys(const std::vector<SceneView>& views, const Camera& reference,
                                     double depth) {
  std::vector<CameraKey> keys;
  for (const SceneView& v : views) {
    const CameraKey key = key_of(resized(v.camera, reference.width_px, reference.height_px));
    if (keys.empty() || travel(keys.back(), key, depth) >= kSamePlace) keys.push_back(key);
  }
  return keys;
}

KeyCurve curve_through(std::vector<CameraKey> keys, double depth) {
  if (keys.size() < kMinLoopSize) return {std::move(keys), false, depth};
  std::vector<float> steps;
  for (std::size_t i = 1; i < keys.size(); ++i)
    steps.push_back(static_cast<float>(travel(keys[i - 1], keys[i], depth)));
  const double closing_step = travel(keys.back(), keys.front(), depth);
  const bool is_closed = closing_step <= kNearEnd * quantile_of(std::move(steps), 0.5f);
  if (closing_step < kSamePlace) keys.pop_back();
  return {std::move(keys), is_closed, depth};
}

// A curve by the distance travelled along it.
class EvenCurve {
 public:
  explicit EvenCurve(KeyCurve curve) : curve_(std::move(curve)) {
    CameraKey last = curve_.keys().front();
    for (int i = 1; i <= curve_.segment_count() * kSamples; ++i) {
      const CameraKey next =
          curve_.place((i - 1) / kSamples, static_cast<double>((i - 1) % kSamples + 1) / kSamples);
      travel_.push_back(travel_.back() + travel(last, next, curve_.depth()));
      last = next;
    }
  }

  // `count` keys at equal steps of travel. A closed curve does not repeat its first key at the end.
  std::vector<CameraKey> places(int count) const {
    const int step_count = curve_.is_closed() ? count : std::max(count - 1, 1);
    std::vector<CameraKey> places;
    for (int i = 0; i < count; ++i) places.push_back(at_travel(travel_.back() * i / step_count));
    return places;
  }

 private:
  CameraKey at_travel(double travel) const {
    if (curve_.keys().size() == 1) return curve_.keys().front();
    const auto end = std::upper_bound(travel_.begin() + 1, travel_.end() - 1, travel);
    const double share = (travel - end[-1]) / (end[0] - end[-1]);
    const int sample = static_cast<int>(end - travel_.begin()) - 1;
    return curve_.place(sample / kSamples, (sample % kSamples + std::min(share, 1.0)) / kSamples);
  }

  KeyCurve curve_;
  std::vector<double> travel_ = {0};  // from the start to each sample of the curve, kSamples per segment
};

double depth_of(const std::vector<SceneView>& views) {
  const Vec3f focus = focus_of(views);
  std::vector<float> distances;
  for (const SceneView& v : views) {
    const Vec3f d = focus - center_of(v.camera);
    distances.push_back(std::sqrt(dot(d, d)));
  }
  const float depth = quantile_of(std::move(distances), 0.5f);
  return depth > 0 ? depth : 1;
}

}  // namespace

std::vector<PathFrame> interpolated_path(const Scene& scene, int frame_count) {
  assert(frame_count > 0);
  const std::vector<SceneView> views = in_order(views_to_follow(scene));
  const Camera reference = median_camera(views);
  const double depth = depth_of(views);
  const EvenCurve curve(curve_through(distinct_keys(views, reference, depth), depth));
  std::vector<PathFrame> frames;
  for (const CameraKey& key : curve.places(frame_count))
    frames.push_back({frame_name(static_cast<int>(frames.size())), camera_of(key, reference)});
  return frames;
}

}  // namespace stipple
