// SPDX-License-Identifier: Apache-2.0
#pragma once
// stipple convert --to: scenes from one format to another.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace stipple {

struct SceneFlags {  // as given; `to` is empty unless a scene is to be converted
  std::string to, photos = "copy", images;
  bool overwrite = false;
  std::vector<const CLI::Option*> of_models;  // that must not be given with `to`
};

// Adds the flags. With --to, all that the command has so far are refused, since they are for models.
void add_scene_flags_of_convert(CLI::App& command, SceneFlags& flags);

// Throws OptionError unless there is one scene.
void convert_scene(const std::vector<std::string>& scenes, const std::string& folder,
                   const SceneFlags& flags);

}  // namespace stipple
