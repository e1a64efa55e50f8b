// SPDX-License-Identifier: Apache-2.0
#pragma once
// The models that commands take: a file of any format, or that of a run.
#include <filesystem>
#include <string>

#include "stipple/backend/view.h"
#include "stipple/model/model_file.h"

namespace stipple {

// For the help of a command: "model (.ply, .spz), or folder of a run".
std::string model_help();
// The same of a file that a command writes: ".ply, .spz file".
std::string written_model_help();

// Whether this is the folder of a run. Other folders hold a model of a format with several files; one with
// neither counts as a run, of which the files are missing.
bool is_run(const std::filesystem::path& run_or_model);

// The model.ply of a run's folder, the file that stands for the model in another folder, or the given file
// itself. Throws Error if the folder has no model.
std::filesystem::path model_file(const std::filesystem::path& run_or_model);

struct RunModel {
  Gaussians gaussians;
  ModelFacts facts;
  // As the run rendered it. A file alone says at most whether it was trained for antialiased rendering.
  RenderOptions render;
};

RunModel load_run_model(const std::filesystem::path& run_or_model, const LoadModelOptions& options = {});

}  // namespace stipple
