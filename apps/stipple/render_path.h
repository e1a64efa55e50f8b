// SPDX-License-Identifier: Apache-2.0
#pragma once
// stipple render --path: frames of a model along a camera path, and a video of them.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stipple/backend/render.h"
#include "stipple/path/camera_path.h"

namespace stipple {

struct PathArguments {
  std::string path;   // orbit, interpolate, cameras or a .json file; empty means no path
  std::string scene;  // folder; empty means the scene of the run
  std::string size;   // of the frames; empty means that of the cameras
  std::optional<int> frame_count;
  std::optional<double> frames_per_second;
};

struct PlannedPath {
  std::vector<PathFrame> frames;
  double frames_per_second;
  bool is_video;  // rather than single pictures
};

// Returns the option --path, so that other options can exclude it.
CLI::Option* add_path_options(CLI::App& command, PathArguments& arguments);

// The frames of the path. Throws Error if they cannot be written to the output.
PlannedPath plan_path(const PathArguments& arguments, const std::filesystem::path& run_or_model,
                      const std::filesystem::path& output);

// Renders into a folder, or only a video if the output is an .mp4 file.
void render_path(const PlannedPath& path, const std::filesystem::path& output, const RenderOptions& options,
                 ModelRenderer& renderer);

}  // namespace stipple
