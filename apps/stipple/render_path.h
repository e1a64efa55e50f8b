// SPDX-License-Identifier: Apache-2.0
#pragma once
// stipple render --path: many pictures of a model, along a flight through its scene, and a video of them.
#include <CLI/CLI.hpp>

#include "stipple/backend/backend.h"

namespace stipple {

struct PathArguments {
  std::string path;   // orbit, interpolate or cameras; empty: no flight is asked for
  std::string scene;  // folder; empty: the run says which
  std::string size;   // of the pictures; empty: the cameras'
  int frame_count = 240;
  double frames_per_second = 30;
};

// The CLI option --path itself is returned, for others to exclude.
CLI::Option* add_path_options(CLI::App& command, PathArguments& arguments);

// The model of a run's folder, or the .ply itself.
std::filesystem::path model_file(const std::filesystem::path& run_or_model);

// Into a folder, or into a video when the output's name is one.
void render_path(const PathArguments& arguments, const std::filesystem::path& run_or_model,
                 const std::filesystem::path& output, const RenderOptions& options, Backend& backend);

}  // namespace stipple
