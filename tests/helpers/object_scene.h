// SPDX-License-Identifier: Apache-2.0
#pragma once
// A cut-out object for tests: a ball of radius 1 around the origin whose colour tells the normal, in photos
// that are transparent beside it, without points.
#include <fmt/format.h>

#include <cmath>

#include "stipple/camera/pinhole_lens.h"
#include "stipple/camera/pose.h"
#include "stipple/io/image/image_file.h"
#include "stipple/scene/formats/save_scene.h"
#include "tests/helpers/test_folder.h"

namespace stipple {

// Cameras at a distance of 4 all around the ball, alternately above and below it.
inline std::vector<Camera> object_cameras(int count, int side_px) {
  std::vector<Camera> cameras;
  for (int i = 0; i < count; ++i) {
    const float a = 6.2831853f * static_cast<float>(i) / static_cast<float>(count), height = i % 2 ? 2 : -1;
    const Vec3f from = normalized(Vec3f(2 * std::cos(a), 2 * std::sin(a), height)) * 4.0f;
    Camera camera;
    camera.camera_from_world = look_at(from, {0, 0, 0}, {0, 0, 1});
    camera.focal_px = Vec2f(1, 1) * (1.2f * static_cast<float>(side_px));
    camera.center_px = Vec2f(0.5f, 0.5f) * static_cast<float>(side_px);
    camera.width_px = camera.height_px = side_px;
    cameras.push_back(camera);
  }
  return cameras;
}

inline std::uint8_t color_of_normal(float component) {
  return static_cast<std::uint8_t>(std::lround(127.5f + 120 * component));
}

// The nearest point of the ball on the ray through a pixel's centre; zero if the ray misses the ball.
inline Vec3f ball_at(const Camera& camera, int x, int y) {
  const Vec3f from = center_of(camera);
  const Vec2f pixel(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
  const Vec3f direction = normalized(point_at(camera, pixel, 1) - from);
  const float along = dot(from, direction), root2 = along * along - dot(from, from) + 1;
  return root2 > 0 ? from + direction * (-along - std::sqrt(root2)) : Vec3f(0, 0, 0);
}

inline ByteImage ball_photo(const Camera& camera) {
  ByteImage image(camera.width_px, camera.height_px, 4);
  auto to = image.values.begin();
  for (int y = 0; y < camera.height_px; ++y)
    for (int x = 0; x < camera.width_px; ++x) {
      const Vec3f normal = ball_at(camera, x, y);
      const bool is_hit = dot(normal, normal) > 0;
      for (int c = 0; c < 3; ++c) *to++ = color_of_normal(normal[c]);
      *to++ = is_hit ? 255 : 0;
    }
  return image;
}

inline void save_object_scene(const TestFolder& folder, int view_count = 16, int side_px = 32) {
  std::filesystem::create_directories(folder / "images");
  std::vector<PosedImage> images;
  for (const Camera& camera : object_cameras(view_count, side_px)) {
    images.push_back(
        {fmt::format("{:02}.png", images.size()), pinhole_lens(camera), camera.camera_from_world});
    save_png(ball_photo(camera), folder / "images" / images.back().name);
  }
  save_transforms(images, {}, folder.path());
}

}  // namespace stipple
