// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cameras of photos without lens distortion.
#include "stipple/camera/camera.h"
#include "stipple/camera/lens.h"

namespace stipple {

// The lens of such a photo.
inline Lens pinhole_lens(const Camera& camera) {
  Lens lens;
  lens.model = "PINHOLE";
  lens.focal_px = {camera.focal_px.x, camera.focal_px.y};
  lens.center_px = {camera.center_px.x, camera.center_px.y};
  lens.width_px = camera.width_px;
  lens.height_px = camera.height_px;
  return lens;
}

// The camera of the same photo at another size.
inline Camera resized(Camera camera, int width_px, int height_px) {
  const Vec2f ratio(static_cast<float>(width_px) / static_cast<float>(camera.width_px),
                    static_cast<float>(height_px) / static_cast<float>(camera.height_px));
  camera.focal_px = camera.focal_px * ratio;
  camera.center_px = camera.center_px * ratio;
  camera.width_px = width_px;
  camera.height_px = height_px;
  return camera;
}

}  // namespace stipple
