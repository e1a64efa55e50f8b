// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <vector>

namespace stipple {

// A folder of photos whose cameras are not known yet.
struct PhotoFolder {
  std::filesystem::path path;
  std::vector<std::filesystem::path> names;  // relative to `path`, sorted
};

// The JPEGs and PNGs in a folder and its subfolders, except hidden ones. Throws Error if they are too few.
PhotoFolder find_photos(const std::filesystem::path& folder);

enum class CameraSharing { kAll, kFolder, kNone };

// Which photos share a camera, judged by their sizes: all of them, those of a folder, or none.
CameraSharing camera_sharing(const PhotoFolder& photos);

}  // namespace stipple
