// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/camera/camera.h"
#include "stipple/synth/geometry.h"

namespace stipple::synth {

// Computes the rays of a camera.
class RayCamera {
 public:
  explicit RayCamera(const Camera& camera)
      : world_from_camera_(transpose(camera.camera_from_world.rotation)),
        position_(-(world_from_camera_ * camera.camera_from_world.translation)),
        focal_px_(camera.focal_px),
        center_px_(camera.center_px) {}

  Vec3f position() const { return position_; }

  Ray ray(Vec2f at_px) const {
    const Vec2f slope = (at_px - center_px_) / focal_px_;
    return {position_, synth::normalized(world_from_camera_ * Vec3f(slope.x, slope.y, 1))};
  }

  // z, in the camera's frame, of the point at this distance along the ray.
  float depth(const Ray& ray, float distance) const {
    return distance * dot(ray.direction, world_from_camera_[2]);
  }

 private:
  Mat3f world_from_camera_;
  Vec3f position_;
  Vec2f focal_px_, center_px_;
};

}  // namespace stipple::synth
