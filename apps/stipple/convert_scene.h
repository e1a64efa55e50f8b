// SPDX-License-Identifier: Apache-2.0
#pragma once
// stipple convert --to: scenes from one format to another.
#include <CLI/CLI.hpp>
#include <string>

namespace stipple {

struct SceneFlags {  // as given; `to` is empty unless a scene is to be converted
  std::string to, photos = "copy", images;
  bool overwrite = false;
};

void add_scene_flags_of_convert(CLI::App& command, SceneFlags& flags);

void convert_scene(const std::string& scene, const std::string& folder, const SceneFlags& flags);

}  // namespace stipple
