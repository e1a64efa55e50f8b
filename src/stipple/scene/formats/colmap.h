// SPDX-License-Identifier: Apache-2.0
#pragma once
// COLMAP's sparse models: cameras, images and points3D, each a .bin or a .txt file. Tracks, rigs and frames
// are ignored, because nothing here needs them.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "stipple/scene/dropped.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct ColmapImage {
  std::string name;  // of the file, relative to the image folder
  std::uint32_t camera_id = 0;
  RigidTransform camera_from_world;
};

struct ColmapModel {
  std::map<std::uint32_t, Lens> lens_from_camera_id;
  std::map<std::uint32_t, std::string> unusable_cameras;  // by id; the reason as a sentence
  std::vector<ColmapImage> images;
  Points points;

  Dropped bad_poses;    // images whose pose is not finite or has a zero quaternion
  Dropped twice;        // images whose name was used before
  Dropped bad_points;   // points that are not finite
  Dropped bad_lines;    // malformed lines of text files; `first` is "images.txt line 12"
  Dropped short_files;  // text files with fewer entries than their header claims or no final newline
};

enum class ColmapFormat { kBinary, kText };

// Folders in the usual places under `root` that hold a model: sparse/0, sparse/*, sparse, the folder itself,
// and the same under colmap/, in this order.
std::vector<std::filesystem::path> find_colmap_models(const std::filesystem::path& root);

// Whether the folder has both files that a model needs: cameras and images.
bool is_whole_colmap_model(const std::filesystem::path& folder);

// The number of images that a model claims to have; used to choose between several models.
std::size_t colmap_image_count(const std::filesystem::path& folder);

// The format of the model in a folder; binary takes precedence, as in COLMAP.
ColmapFormat colmap_format(const std::filesystem::path& folder);

// Throws Error naming the file and the position if a file is missing, truncated or not a COLMAP file at all.
ColmapModel load_colmap(const std::filesystem::path& folder);

}  // namespace stipple
