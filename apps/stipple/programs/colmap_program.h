// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs COLMAP, version 3.8 or newer, as an external program.
#include <filesystem>

#include "apps/stipple/programs/colmap_arguments.h"
#include "apps/stipple/programs/step_runner.h"

namespace stipple {

std::filesystem::path find_colmap();  // throws Error if it is not installed

// Finds where the photos were taken, and undistorts them. Writes into the folder `work` and returns a folder
// below it, with images/ and the model sparse/0. Throws Error if too few photos could be placed.
std::filesystem::path run_colmap(const std::filesystem::path& program, const PhotoFolder& photos,
                                 const ColmapOptions& options, const std::filesystem::path& work,
                                 StepRunner& runner);

}  // namespace stipple
