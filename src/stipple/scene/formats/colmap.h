// SPDX-License-Identifier: Apache-2.0
#pragma once
// COLMAP's sparse models: cameras, images and points3D, each a .bin or a .txt file. Tracks, rigs and frames
// are passed over: nothing here needs them.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stipple/scene/dropped.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct ColmapImage {
  std::string name;  // of the file, relative to the folder of images
  std::uint32_t camera_id = 0;
  RigidTransform camera_from_world;
};

struct ColmapModel {
  std::map<std::uint32_t, Lens> lens_from_camera_id;
  std::map<std::uint32_t, std::string> unusable_cameras;  // by id; a sentence that says why
  std::vector<ColmapImage> images;
  Points points;

  Dropped bad_poses;    // images whose pose is not a rotation and a translation
  Dropped twice;        // images whose name has been there before
  Dropped bad_points;   // points that are not finite
  Dropped bad_lines;    // of text that make no sense; `first` is "images.txt line 12"
  Dropped short_files;  // of text that hold less than their head says, or whose last line has no end
};

enum class ColmapFormat { kBinary, kText };

// Folders under `root` that hold a model, where people keep them: sparse/0, sparse/*, sparse, the folder
// itself, colmap/sparse/0, ... The customary one first.
std::vector<std::filesystem::path> find_colmap_models(const std::filesystem::path& root);

// Whether a folder that holds a model has both of the files that make one.
bool is_whole_colmap_model(const std::filesystem::path& folder);

// How many images a model says it has; for choosing between several.
std::size_t colmap_image_count(const std::filesystem::path& folder);

// The format of the model in a folder; binary when both are there, as COLMAP has it.
ColmapFormat colmap_format(const std::filesystem::path& folder);

// Throws Error naming the file and the place when one is missing, cut or makes no sense as a whole.
ColmapModel load_colmap(const std::filesystem::path& folder);

}  // namespace stipple
