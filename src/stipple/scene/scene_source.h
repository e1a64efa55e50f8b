// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a scene's files say, the same for every format, before any photo is looked at.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stipple/camera/partial_lens.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct SourceImage {
  std::string name;       // relative to the folder of images
  std::string mask_name;  // relative to the scene; empty: none is named
  std::string camera;     // for messages: "camera 1"
  PartialLens lens;
  RigidTransform camera_from_world;
  std::optional<bool> is_test;
};

struct SceneSource {
  std::string format;
  std::filesystem::path base;  // what image and mask names, or folders of images, are relative to
  // Where images may be, relative to base, the likeliest first.
  std::vector<std::filesystem::path> image_folders;
  std::vector<SourceImage> images;
  Points points;
  std::vector<SceneProblem> problems;
};

// Throws Error when the folder is no scene, or its files cannot be read.
SceneSource read_scene_source(const std::filesystem::path& path);

// "1 image" or "3 images".
std::string count_of(std::size_t count, const char* what);

}  // namespace stipple
