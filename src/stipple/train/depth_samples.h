// SPDX-License-Identifier: Apache-2.0
#pragma once
// The depths that a scene's points have in its views, for the depth loss.
#include <optional>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct KnownDepths {                 // of a view; DepthSamples on the host
  std::vector<DepthSample> samples;  // in the order of their pixels
  float scale = 1;
};

// The depths of the points that the camera sees: those that no other point seems to hide, the nearest in each
// pixel, without the nearest and farthest few, which may be wrong. If there are more than a few thousand,
// they are thinned out evenly. None if the camera sees hardly any points.
KnownDepths known_depths(const Points& points, const Camera& camera);

// The samples of each view, made and uploaded when they are first needed. They stay on the device: at most
// 32 kB per view.
class DepthSampleCache {
 public:
  // The backend and the scene must outlive the cache.
  DepthSampleCache(Backend& backend, const Scene& scene)
      : backend_(backend), scene_(scene), views_(scene.views.size()) {}

  // Null if the scene's points were not measured. The address stays valid.
  const DepthSamples* get(std::size_t view);

 private:
  Backend& backend_;
  const Scene& scene_;
  std::vector<std::optional<DepthSamples>> views_;
};

}  // namespace stipple
