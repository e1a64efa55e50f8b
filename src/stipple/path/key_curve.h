// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "stipple/path/camera_key.h"

namespace stipple {

// A curve through cameras: a Catmull-Rom spline in Barry and Goldman's form with centripetal knots, which
// neither overshoots nor loops where cameras are unevenly spaced (Yuksel et al., 2011). Quaternions of
// neighbours have the sign that brings them closest to each other, so they are interpolated linearly like the
// rest, and normalised.
class KeyCurve {
 public:
  // A closed curve returns to its first key. `depth` is that of travel(). There must be a key.
  KeyCurve(std::vector<CameraKey> keys, bool is_closed, double depth);

  const std::vector<CameraKey>& keys() const { return keys_; }
  double depth() const { return depth_; }
  bool is_closed() const { return is_closed_; }

  // Of the curve between two keys each.
  int segment_count() const { return static_cast<int>(keys_.size()) - (is_closed_ ? 0 : 1); }

  // The distance of the knots of a segment's ends.
  double knot_distance(int segment) const;

  // The point at `share` (0 to 1) of the way from key `segment` to the next, by knots.
  CameraKey place(int segment, double share) const;

 private:
  CameraKey key(int i) const;
  double knot_distance(const CameraKey& a, const CameraKey& b) const;

  std::vector<CameraKey> keys_;
  bool is_closed_;
  double depth_;
};

}  // namespace stipple
