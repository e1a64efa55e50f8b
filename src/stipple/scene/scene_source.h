// SPDX-License-Identifier: Apache-2.0
#pragma once
// The content of a scene's files in a form common to all formats, before any photo is opened.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/camera/partial_lens.h"
#include "stipple/scene/dropped.h"
#include "stipple/scene/scene.h"

namespace stipple {

constexpr std::size_t kTestEvery = 8;  // by convention, one view in eight is held out

struct SourceImage {
  std::string name;       // relative to the image folder
  std::string mask_name;  // relative to the scene; empty means none is named
  std::string camera;     // for messages: "camera 1"
  PartialLens lens;
  RigidTransform camera_from_world;
  std::optional<bool> is_test;  // absent if the data does not say
};

struct SceneSource {
  std::string format;
  std::filesystem::path base;  // image folders and mask names are relative to this folder
  // Candidates for the image folder, relative to `base`, likeliest first.
  std::vector<std::filesystem::path> image_folders;
  std::vector<SourceImage> images;
  Points points;
  std::vector<SceneProblem> problems;
};

// Throws Error if the folder holds no scene or its files cannot be read.
SceneSource read_scene_source(const std::filesystem::path& path);

// "1 image" or "3 images".
std::string count_of(std::size_t count, const char* noun);

// "1 photo not found: 03.png" or "3 photos not found, such as 03.png".
std::string describe(const Dropped& dropped, const char* noun, std::string_view what);

}  // namespace stipple
