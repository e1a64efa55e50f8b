// SPDX-License-Identifier: Apache-2.0
#include "stipple/path/camera_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stipple/core/error.h"
#include "stipple/path/path_views.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

// Photo names may be absolute or lead out of their folder, but rendered images must stay in theirs.
fs::path without_detours(const fs::path& name) {
  fs::path inner;
  for (const fs::path& part : name.relative_path().lexically_normal())
    if (part != "..") inner /= part;
  return inner;
}

float zoom_of(const Camera& camera) {
  return camera.focal_px.x / static_cast<float>(std::max(camera.width_px, camera.height_px));
}

int even_side(int side_px) { return std::max(side_px - side_px % 2, 2); }

}  // namespace

std::vector<SceneView> views_to_follow(const Scene& scene) {
  if (scene.views.empty())
    throw Error(fmt::format("{}: the scene has no cameras to follow; add photos", scene.path.string()));
  std::vector<SceneView> views;
  for (const std::size_t i : scene.train_views()) views.push_back(scene.views[i]);
  return views.empty() ? scene.views : views;
}

Camera with_even_sides(const Camera& camera) {
  return resized(camera, even_side(camera.width_px), even_side(camera.height_px));
}

Camera median_camera(const std::vector<SceneView>& views) {
  std::vector<Camera> cameras;
  for (const SceneView& v : views) cameras.push_back(v.camera);
  const auto middle = cameras.begin() + static_cast<std::ptrdiff_t>(cameras.size() / 2);
  std::nth_element(cameras.begin(), middle, cameras.end(),
                   [](const Camera& a, const Camera& b) { return zoom_of(a) < zoom_of(b); });
  return with_even_sides(*middle);
}

std::string frame_name(int index) { return fmt::format("{:04}.png", index + 1); }

std::vector<PathFrame> photo_path(const Scene& scene) {
  std::vector<PathFrame> frames;
  std::set<std::string> taken;
  for (const SceneView& v : scene.views) {
    const fs::path photo = without_detours(v.name);
    std::string name = fs::path(photo).replace_extension(".png").string();
    if (!taken.insert(name).second) name = photo.string() + ".png";  // e.g. both a.jpg and a.png
    frames.push_back({name, v.camera});
  }
  return frames;
}

Camera resized(const Camera& camera, int width_px, int height_px) {
  const auto size = [](int w, int h) { return Vec2f(static_cast<float>(w), static_cast<float>(h)); };
  const Vec2f from = size(camera.width_px, camera.height_px), to = size(width_px, height_px);
  const float scale = std::max(to.x / from.x, to.y / from.y);
  return {camera.camera_from_world, camera.focal_px * scale,
          to * 0.5f + (camera.center_px - from * 0.5f) * scale, width_px, height_px};
}

}  // namespace stipple
