// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/start_view.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "stipple/camera/pose.h"
#include "stipple/core/quantile.h"
#include "stipple/scene/layout.h"

namespace stipple {

namespace {

constexpr int kWidthPx = 1280, kHeightPx = 720;
constexpr float kFocalPx = 900;       // a vertical field of view of 44 degrees
constexpr float kHalfView = 0.4f;     // the tangent of half of it
constexpr float kLeastShare = 0.05f;  // of the model, that counts as the subject
constexpr float kElevation = 0.3f;    // rad, of a camera that frames a model

ViewBounds bounds_of(const RobustBounds& model) {
  ViewBounds bounds;
  bounds.low = model.low;
  bounds.high = model.high;
  bounds.center = model.middle;
  bounds.radius = model.radius;
  return bounds;
}

Camera framing(const ViewBounds& bounds) {
  Camera camera;
  camera.width_px = kWidthPx;
  camera.height_px = kHeightPx;
  camera.focal_px = {kFocalPx, kFocalPx};
  camera.center_px = {kWidthPx / 2.0f, kHeightPx / 2.0f};
  const float distance = bounds.radius / std::sin(std::atan(kHalfView));
  const Vec3f back(0, 0, -1);  // cameras of the usual frame look along z
  const Vec3f from =
      bounds.center + (back * std::cos(kElevation) + bounds.up * std::sin(kElevation)) * distance;
  camera.camera_from_world = look_at(from, bounds.center, bounds.up);
  return camera;
}

// Where cameras are, as seen from the centre of what they look at.
struct Places {
  std::vector<float> distances, heights;

  Places(std::span<const SceneView> views, const ViewBounds& bounds) {
    for (const SceneView& view : views) {
      const Vec3f d = center_of(view.camera) - bounds.center;
      distances.push_back(std::sqrt(dot(d, d)));
      heights.push_back(dot(d, bounds.up));
    }
  }

  // The one whose distance and height differ least from those of most.
  std::size_t ordinary() const {
    const float distance = quantile_of(distances, 0.5f), height = quantile_of(heights, 0.5f);
    std::size_t best = 0;
    float least = INFINITY;
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const float difference = std::abs(distances[i] - distance) + std::abs(heights[i] - height);
      if (difference < least) least = difference, best = i;
    }
    return best;
  }
};

}  // namespace

StartView start_view(const RobustBounds& model, std::span<const SceneView> views) {
  StartView start{bounds_of(model), {}};
  if (views.empty()) {
    start.camera = framing(start.bounds);
    return start;
  }
  start.bounds.up = upright_axes(views).up;
  start.bounds.center = focus_of(views);
  const Places places(views, start.bounds);
  // The surroundings of a subject can have more Gaussians than the subject; its photographers were near it.
  start.bounds.radius =
      std::clamp(quantile_of(places.distances, 0.5f), kLeastShare * model.radius, model.radius);
  start.camera = views[places.ordinary()].camera;
  return start;
}

}  // namespace stipple
