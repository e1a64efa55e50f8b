// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options as JSON, as options.json holds them (docs/formats.md).
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "stipple/options/resolve.h"

namespace stipple {

nlohmann::ordered_json scene_options_to_json(const SceneOptions& options);
nlohmann::ordered_json run_options_to_json(const RunOptions& options);

// `file` is named in errors.
void scene_options_from_json(const nlohmann::json& object, const std::string& file, SceneOptions& options);
void render_options_from_json(const nlohmann::json& object, const std::string& file, RenderOptions& options);

// All options in an options.json. Throws Error naming the file unless resolve() accepts them.
OptionTexts load_option_texts(const std::filesystem::path& path);

}  // namespace stipple
