// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/core/quantile.h"
#include "stipple/path/camera_path.h"
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

using Vec2d = Vec2<double>;
using Vec3d = Vec3<double>;
using Vec4d = Vec4<double>;

template <class V>
double length(V v) {
  return std::sqrt(dot(v, v));
}

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

// A camera as numbers that can be interpolated.
struct Key {
  Vec3d position;   // world frame
  Vec4d rotation;   // camera_from_world as a quaternion (w, x, y, z), with the sign nearest to its neighbours
  Vec2d log_focal;  // log of pixels, so that focal lengths stay positive and zooming is even
  Vec2d center_px;
};

Key mix(const Key& a, const Key& b, double t) {
  const auto between = [t](auto x, auto y) { return x * (1 - t) + y * t; };
  return {between(a.position, b.position), between(a.rotation, b.rotation), between(a.log_focal, b.log_focal),
          between(a.center_px, b.center_px)};
}

Vec4d unit(Vec4d q) { return q * (1 / length(q)); }

// q and -q are the same rotation; this returns the one nearer to `other`.
Vec4d beside(Vec4d q, Vec4d other) { return dot(q, other) < 0 ? -q : q; }

Key key_of(const Camera& camera) {
  const Vec3f p = center_of(camera);
  const auto q = quaternion_from_rotation(camera.camera_from_world.rotation);
  return {{p.x, p.y, p.z},
          {q[0], q[1], q[2], q[3]},
          {std::log(camera.focal_px.x), std::log(camera.focal_px.y)},
          {camera.center_px.x, camera.center_px.y}};
}

Camera camera_of(const Key& key, Camera camera) {
  const auto to_float = [](double v) { return static_cast<float>(v); };
  const Mat3<double> r = Math<double>::rotation_from_quaternion(key.rotation);
  const Vec3d t = -(r * key.position);
  for (int column = 0; column < 3; ++column)
    for (int row = 0; row < 3; ++row)
      camera.camera_from_world.rotation[column][row] = to_float(r[column][row]);
  camera.camera_from_world.translation = {to_float(t.x), to_float(t.y), to_float(t.z)};
  camera.focal_px = {to_float(std::exp(key.log_focal.x)), to_float(std::exp(key.log_focal.y))};
  camera.center_px = {to_float(key.center_px.x), to_float(key.center_px.y)};
  return camera;
}

// A curve through cameras: a Catmull-Rom spline in Barry and Goldman's form with centripetal knots, which
// neither overshoots nor loops where cameras are unevenly spaced (Yuksel et al., 2011). Quaternions of
// neighbours are close to each other, so they are interpolated linearly like the rest, and normalised.
class Curve {
 public:
  Curve(const std::vector<SceneView>& views, const Camera& reference, double scene_depth)
      : scene_depth_(scene_depth) {
    for (const SceneView& v : views) add(key_of(resized(v.camera, reference.width_px, reference.height_px)));
    close_loop();
    sample();
  }

  // `count` keys at equal steps of travel. A closed curve does not repeat its first key at the end.
  std::vector<Key> places(int count) const {
    const int step_count = is_closed_ ? count : std::max(count - 1, 1);
    std::vector<Key> places;
    for (int i = 0; i < count; ++i) places.push_back(at_travel(travel_.back() * i / step_count));
    return places;
  }

 private:
  void add(Key key) {
    if (!keys_.empty()) {
      if (travel(keys_.back(), key) < kSamePlace) return;
      key.rotation = beside(key.rotation, keys_.back().rotation);
    }
    keys_.push_back(key);
  }

  void close_loop() {
    if (keys_.size() < kMinLoopSize) return;
    std::vector<float> steps;
    for (std::size_t i = 1; i < keys_.size(); ++i)
      steps.push_back(static_cast<float>(travel(keys_[i - 1], keys_[i])));
    const double closing_step = travel(keys_.back(), keys_.front());
    is_closed_ = closing_step <= kNearEnd * quantile_of(std::move(steps), 0.5f);
    if (closing_step < kSamePlace) keys_.pop_back();
  }

  // How far the image moves between two keys, in radians of view: by rotation, and by translation relative to
  // objects at the scene's depth.
  double travel(const Key& a, const Key& b) const {
    const Vec4d from = unit(a.rotation), to = unit(b.rotation);
    return length(b.position - a.position) / scene_depth_ + 2 * length(beside(to, from) - from);
  }

  // Key i, from -1 to one past the last. A closed curve wraps around; an open one is extrapolated linearly.
  Key key(int i) const {
    const int n = static_cast<int>(keys_.size());
    const auto inner = [&](int k) { return keys_[static_cast<std::size_t>(k)]; };
    if (is_closed_) return inner((i + n) % n);
    if (i < 0) return mix(inner(1), inner(0), 2);
    if (i >= n) return mix(inner(n - 2), inner(n - 1), 2);
    return inner(i);
  }

  // The point at `share` (0 to 1) of the way from key `segment` to the next.
  Key place(int segment, double share) const {
    Key p[4];
    double knot[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; ++i) {
      p[i] = key(segment + i - 1);
      if (i == 0) continue;
      p[i].rotation = beside(p[i].rotation, p[i - 1].rotation);  // after a full turn, the sign is reversed
      knot[i] = knot[i - 1] + std::sqrt(travel(p[i - 1], p[i]));
    }
    const double at = knot[1] + share * (knot[2] - knot[1]);
    const auto between = [&](const Key& a, int i, const Key& b, int j) {
      return mix(a, b, (at - knot[i]) / (knot[j] - knot[i]));
    };
    const Key a = between(p[0], 0, p[1], 1), b = between(p[1], 1, p[2], 2), c = between(p[2], 2, p[3], 3);
    return between(between(a, 0, b, 2), 1, between(b, 1, c, 3), 2);
  }

  void sample() {
    travel_ = {0};
    Key last = keys_.front();
    const int segment_count = static_cast<int>(keys_.size()) - (is_closed_ ? 0 : 1);
    for (int i = 1; i <= segment_count * kSamples; ++i) {
      const Key next = place((i - 1) / kSamples, static_cast<double>((i - 1) % kSamples + 1) / kSamples);
      travel_.push_back(travel_.back() + travel(last, next));
      last = next;
    }
  }

  Key at_travel(double travel) const {
    if (keys_.size() == 1) return keys_.front();
    const auto end = std::upper_bound(travel_.begin() + 1, travel_.end() - 1, travel);
    const double share = (travel - end[-1]) / (end[0] - end[-1]);
    const int sample = static_cast<int>(end - travel_.begin()) - 1;
    return place(sample / kSamples, (sample % kSamples + std::min(share, 1.0)) / kSamples);
  }

  double scene_depth_;
  bool is_closed_ = false;
  std::vector<Key> keys_;
  std::vector<double> travel_;  // from the start to each sample of the curve, kSamples per segment
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
  std::vector<PathFrame> frames;
  for (const Key& key : Curve(views, reference, depth_of(views)).places(frame_count))
    frames.push_back({frame_name(static_cast<int>(frames.size())), camera_of(key, reference)});
  return frames;
}

}  // namespace stipple
