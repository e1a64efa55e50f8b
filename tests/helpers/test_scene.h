// SPDX-License-Identifier: Apache-2.0
#pragma once
// A small scene for tests: cameras on a ring around some points, with simple photos.
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "stipple/io/image/image_file.h"
#include "stipple/scene/formats/save_scene.h"
#include "stipple/scene/scene.h"
#include "tests/helpers/test_folder.h"

namespace stipple {

inline Lens test_lens(int width_px = 32, int height_px = 24) {
  Lens lens;
  lens.model = "PINHOLE";
  lens.focal_px = {30.5, 31.25};
  lens.center_px = {15.75, 12.5};
  lens.width_px = width_px;
  lens.height_px = height_px;
  return lens;
}

// Cameras that look at the origin from a ring of radius 4.
inline std::vector<PosedImage> test_images(int count = 12) {
  std::vector<PosedImage> images;
  for (int i = 0; i < count; ++i) {
    const float a = 6.2831853f * static_cast<float>(i) / static_cast<float>(count);
    PosedImage image{fmt::format("{:02}.png", i), test_lens(), {}};
    const Vec3f forward(-std::cos(a), 0, -std::sin(a)), down(0, 1, 0), right = cross(down, forward);
    image.camera_from_world.rotation = {
        {right.x, down.x, forward.x}, {right.y, down.y, forward.y}, {right.z, down.z, forward.z}};
    image.camera_from_world.translation = {0, 0, 4};
    images.push_back(image);
  }
  return images;
}

inline Points test_points(int count = 60) {
  Points points;
  for (int i = 0; i < count; ++i) {
    const float t = static_cast<float>(i);
    points.position.push_back({std::sin(t), std::cos(1.7f * t) * 0.5f, std::sin(2.3f * t)});
    points.color.push_back({static_cast<std::uint8_t>(4 * i), 100, static_cast<std::uint8_t>(255 - 4 * i)});
  }
  return points;
}

inline void save_test_picture(const std::filesystem::path& path, int width_px = 32, int height_px = 24) {
  std::filesystem::create_directories(path.parent_path());
  Image image(width_px, height_px, 3);
  for (std::size_t i = 0; i < image.values.size(); ++i) image.values[i] = static_cast<float>(i % 97) / 97;
  save_png(image, path);
}

// Writes a COLMAP scene: images/ and sparse/0/.
inline void save_test_scene(const std::filesystem::path& folder,
                            ColmapFormat format = ColmapFormat::kBinary) {
  std::filesystem::create_directories(folder / "sparse/0");
  for (const PosedImage& image : test_images()) save_test_picture(folder / "images" / image.name);
  save_colmap(test_images(), test_points(), format, folder / "sparse/0");
}

// The problems that load_scene() reports, `what` and `advice` on a line each, or its Error. The folder's path
// is replaced by "scene".
inline std::string problems_of(const TestFolder& folder, const SceneOptions& options = {}) {
  std::string text;
  const std::string error = error_of([&] {
    for (const SceneProblem& p : load_scene(folder.path(), options).problems)
      text += p.what + "\n" + p.advice + "\n";
  });
  if (!error.empty()) text += error + "\n";
  for (std::size_t at; (at = text.find(folder.path().string())) != text.npos;)
    text.replace(at, folder.path().string().size(), "scene");
  return text;
}

inline void replace_in(const std::filesystem::path& path, const std::string& from, const std::string& to) {
  std::string text = read_file(path);
  const std::size_t at = text.find(from);
  ASSERT_NE(at, text.npos) << from;
  text.replace(at, from.size(), to);
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace stipple
