// SPDX-License-Identifier: Apache-2.0
#include "stipple/path/key_path.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "stipple/path/key_curve.h"
#include "stipple/path/path_views.h"

namespace stipple {

namespace {

// Where the path is at which time: a curve between the knots that is as smooth as the path and never turns
// back, so that the camera neither passes a key frame and returns nor moves while two key frames are the same
// (a cubic with the slopes of Fritsch and Butland, 1984).
class Timing {
 public:
  // `times` and `knots` are those of the ends of all segments, so one more than there are segments.
  Timing(std::vector<double> times, std::vector<double> knots, bool is_closed)
      : times_(std::move(times)), knots_(std::move(knots)) {
    const std::size_t segment_count = times_.size() - 1;
    for (std::size_t i = 0; segment_count > 0 && i <= segment_count; ++i) {
      const bool is_start = i == 0, is_end = i == segment_count;
      if (is_closed || !(is_start || is_end))
        slopes_.push_back(slope_between((i + segment_count - 1) % segment_count, i % segment_count));
      else
        slopes_.push_back(mean_slope(is_start ? 0 : segment_count - 1));
    }
  }

  struct Place {
    int segment;
    double share;  // of the segment's knots
  };

  Place at(double time) const {
    const auto end = std::upper_bound(times_.begin() + 1, times_.end() - 1, time);
    const std::size_t i = static_cast<std::size_t>(end - times_.begin()) - 1;
    const double duration = times_[i + 1] - times_[i], x = (time - times_[i]) / duration;
    // Hermite's cubic from 0 to 1, by the slopes at both ends.
    const double start = slopes_[i] / mean_slope(i), stop = slopes_[i + 1] / mean_slope(i);
    const double share = x * x * (3 - 2 * x) + start * x * (1 - x) * (1 - x) - stop * x * x * (1 - x);
    return {static_cast<int>(i), std::clamp(share, 0.0, 1.0)};
  }

 private:
  double mean_slope(std::size_t segment) const {
    return (knots_[segment + 1] - knots_[segment]) / (times_[segment + 1] - times_[segment]);
  }

  // A weighted harmonic mean of the slopes of two neighbours.
  double slope_between(std::size_t before, std::size_t after) const {
    const double h0 = times_[before + 1] - times_[before], h1 = times_[after + 1] - times_[after];
    return 3 * (h0 + h1) / ((2 * h1 + h0) / mean_slope(before) + (h1 + 2 * h0) / mean_slope(after));
  }

  std::vector<double> times_, knots_, slopes_;
};

// The largest distance of a key from the mean of all; 1 if they are all at the same place.
double size_of(const std::vector<CameraKey>& keys) {
  Vec3<double> mean(0, 0, 0);
  for (const CameraKey& key : keys) mean = mean + key.position * (1 / static_cast<double>(keys.size()));
  double size = 0;
  for (const CameraKey& key : keys) {
    const Vec3<double> d = key.position - mean;
    size = std::max(size, std::sqrt(dot(d, d)));
  }
  return size > 0 ? size : 1;
}

// A curve through the key frames, by time from the first one.
class TimedCurve {
 public:
  TimedCurve(const KeyPath& path, const Camera& reference)
      : curve_(curve_of(path, reference)), timing_(times_of(path), knots_of(curve_), path.is_closed) {}

  CameraKey at(double time) const {
    if (curve_.segment_count() == 0) return curve_.keys().front();
    const Timing::Place place = timing_.at(time);
    return curve_.place(place.segment, place.share);
  }

 private:
  static KeyCurve curve_of(const KeyPath& path, const Camera& reference) {
    std::vector<CameraKey> keys;
    for (const KeyFrame& k : path.keyframes)
      keys.push_back(key_of(resized(k.camera, reference.width_px, reference.height_px)));
    const double size = size_of(keys);
    return {std::move(keys), path.is_closed, size};
  }

  static std::vector<double> times_of(const KeyPath& path) {
    std::vector<double> times;
    for (const KeyFrame& k : path.keyframes) times.push_back(k.time_s - path.keyframes.front().time_s);
    if (path.is_closed) times.push_back(path.duration_s);
    return times;
  }

  static std::vector<double> knots_of(const KeyCurve& curve) {
    std::vector<double> knots = {0};
    for (int i = 0; i < curve.segment_count(); ++i) knots.push_back(knots.back() + curve.knot_distance(i));
    return knots;
  }

  KeyCurve curve_;
  Timing timing_;
};

}  // namespace

int frame_count_of(const KeyPath& path, double frames_per_second) {
  const int step_count = static_cast<int>(std::lround(path.duration_s * frames_per_second));
  return path.is_closed ? std::max(step_count, 1) : step_count + 1;
}

std::vector<PathFrame> frames_along(const KeyPath& path, int frame_count) {
  assert(!path.keyframes.empty() && frame_count > 0);
  const Camera reference = with_even_sides(path.keyframes.front().camera);
  const TimedCurve curve(path, reference);
  const int step_count = path.is_closed ? frame_count : std::max(frame_count - 1, 1);
  std::vector<PathFrame> frames;
  for (int i = 0; i < frame_count; ++i)
    frames.push_back({frame_name(i), camera_of(curve.at(path.duration_s * i / step_count), reference)});
  return frames;
}

}  // namespace stipple
