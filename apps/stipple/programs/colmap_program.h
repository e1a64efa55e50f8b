// SPDX-License-Identifier: Apache-2.0
#pragma once
// COLMAP, version 3.8 or newer, as a program that is installed or not.
#include <filesystem>
#include <string>

#include "apps/stipple/programs/photo_folder.h"
#include "apps/stipple/programs/step_runner.h"

namespace stipple {

struct ColmapOptions {
  std::string camera_model = "OPENCV";
  CameraSharing sharing = CameraSharing::kAll;
  bool is_sequence = false;  // photos show what the few before and after them show, and no others
  bool use_gpu = false;      // Debian's COLMAP cannot
};

std::filesystem::path find_colmap();  // Error when it is not installed

// Finds where the photos were taken, and takes the lenses' distortion out of them. Works in the folder `work`
// and returns one below it, with images/ and the model sparse/0. Error when too few photos could be placed.
std::filesystem::path run_colmap(const std::filesystem::path& program, const PhotoFolder& photos,
                                 const ColmapOptions& options, const std::filesystem::path& work,
                                 StepRunner& runner);

}  // namespace stipple
