// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run's options from the command line, a preset and a file, and as JSON.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "apps/stipple/options/option_flags.h"
#include "stipple/options/run_options.h"

namespace stipple {

// What was given on the command line, by flag, and where the rest comes from.
struct GivenOptions {
  GivenFlags text_from_flag;
  std::string preset, config;
};

void add_run_options(CLI::App& command, GivenOptions& given);

// The strategy's own values, over them the preset's, then the file's, then what was given. Throws Error
// naming the option that makes no sense.
RunOptions resolve(const GivenOptions& given);

nlohmann::ordered_json scene_options_to_json(const SceneOptions& options);
nlohmann::ordered_json run_options_to_json(const RunOptions& options);
void render_options_from_json(const nlohmann::json& object, const std::string& file, RenderOptions& options);
void scene_options_from_json(const nlohmann::json& object, const std::string& file, SceneOptions& options);

}  // namespace stipple
