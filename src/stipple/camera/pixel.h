// SPDX-License-Identifier: Apache-2.0
#pragma once
// Between points in the world and pixels of a camera.
#include <optional>

#include "stipple/camera/camera.h"

namespace stipple {

// Where the camera sees a point; nothing if it is behind the camera or outside the image.
inline std::optional<Vec2f> pixel_of(const Camera& camera, Vec3f point) {
  const Vec3f p = camera.camera_from_world.rotation * point + camera.camera_from_world.translation;
  if (!(p.z > 0)) return {};
  const Vec2f pixel(camera.focal_px.x * p.x / p.z + camera.center_px.x,
                    camera.focal_px.y * p.y / p.z + camera.center_px.y);
  const bool is_inside = 0 <= pixel.x && pixel.x < static_cast<float>(camera.width_px) && 0 <= pixel.y &&
                         pixel.y < static_cast<float>(camera.height_px);
  return is_inside ? std::optional(pixel) : std::nullopt;
}

// The point at this pixel whose z in the camera's frame is `z`.
inline Vec3f point_at(const Camera& camera, Vec2f pixel, float z) {
  const Vec3f in_camera((pixel.x - camera.center_px.x) / camera.focal_px.x * z,
                        (pixel.y - camera.center_px.y) / camera.focal_px.y * z, z);
  const Vec3f offset = in_camera - camera.camera_from_world.translation;
  const Mat3f& r = camera.camera_from_world.rotation;
  return {dot(r[0], offset), dot(r[1], offset), dot(r[2], offset)};
}

}  // namespace stipple
