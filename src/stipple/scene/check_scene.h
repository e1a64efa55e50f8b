// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Checks everything that training needs from a scene and reports what is wrong with it.
#include <map>
#include <string>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

struct SceneReport {
  Scene scene;                         // as far as it could be loaded
  std::vector<SceneProblem> problems;  // those of `scene`, and those found by the check
  std::map<std::string, std::size_t> image_count_from_model;  // by camera model: "PINHOLE"
  std::map<std::string, std::size_t> image_count_from_size;   // by working resolution: "530x946"
  std::size_t mask_count = 0;
  // How many of the scene's measured points a photo shows, the others being hidden or out of view: the median
  // over some photos.
  std::size_t points_per_image = 0;
  std::size_t photo_bytes = 0;  // of all decoded photos
  std::size_t bytes_per_million_gaussians = 0;

  bool would_train() const;  // whether no problem is fatal
};

// Decodes every photo, on all cores. Never throws because of a defect of the scene: defects are problems in
// the report.
SceneReport check_scene(const std::filesystem::path& path, const SceneOptions& options = {});

}  // namespace stipple
