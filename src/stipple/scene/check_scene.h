// SPDX-License-Identifier: Apache-2.0
#pragma once
// The doctor of scenes: looks at everything that training will need, and says what is wrong with it.
#include <map>
#include <string>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

struct SceneReport {
  Scene scene;                         // as far as it could be loaded
  std::vector<SceneProblem> problems;  // the scene's own, and what was found beyond them
  std::map<std::string, std::size_t> image_count_from_model;  // by camera model
  std::map<std::string, std::size_t> image_count_from_size;   // by working size: "530x946"
  std::size_t mask_count = 0;
  std::size_t photo_bytes = 0;  // of all photos, decoded
  std::size_t bytes_per_million_gaussians = 0;

  bool would_train() const;  // no problem is fatal
};

// Decodes every photo, with all cores. Never throws for what is wrong with the scene: that is a problem in
// the report.
SceneReport check_scene(const std::filesystem::path& path, const SceneOptions& options = {});

}  // namespace stipple
