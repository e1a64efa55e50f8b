// SPDX-License-Identifier: Apache-2.0
#pragma once
// stipple render --path: frames of a model along a camera path through its scene, and a video of them.
#include <CLI/CLI.hpp>

#include "stipple/backend/backend.h"

namespace stipple {

struct PathArguments {
  std::string path;   // orbit, interpolate or cameras; empty means no path
  std::string scene;  // folder; empty means the scene of the run
  std::string size;   // of the frames; empty means that of the cameras
  int frame_count = 240;
  double frames_per_second = 30;
};

// Returns the option --path, so that other options can exclude it.
CLI::Option* add_path_options(CLI::App& command, PathArguments& arguments);

// The model.ply of a run's folder, or the given .ply itself.
std::filesystem::path model_file(const std::filesystem::path& run_or_model);

// Renders into a folder, or only a video if the output is an .mp4 file.
void render_path(const PathArguments& arguments, const std::filesystem::path& run_or_model,
                 const std::filesystem::path& output, const RenderOptions& options, Backend& backend);

}  // namespace stipple
