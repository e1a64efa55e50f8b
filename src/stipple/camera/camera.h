// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include "stipple/math/math.h"

namespace stipple {

struct RigidTransform {  // x_in_b = b_from_a.rotation * x_in_a + b_from_a.translation
  Mat3f rotation{1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vec3f translation{0, 0, 0};
};

struct Camera {
  RigidTransform camera_from_world;  // the camera looks along +z, x right, y down
  Vec2f focal_px{0, 0};
  Vec2f center_px{0, 0};  // (0, 0) is the image's top-left corner; the first pixel's centre is (0.5, 0.5)
  int width_px = 0;
  int height_px = 0;
};

// The camera in the form that the shared maths uses.
inline Math<float>::Pinhole pinhole(const Camera& camera) {
  Math<float>::Pinhole p;
  p.rotation = camera.camera_from_world.rotation;
  p.translation = camera.camera_from_world.translation;
  p.focal_px = camera.focal_px;
  p.center_px = camera.center_px;
  p.size_px = Vec2f(static_cast<float>(camera.width_px), static_cast<float>(camera.height_px));
  return p;
}

}  // namespace stipple
