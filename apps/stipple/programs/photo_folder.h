// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <initializer_list>
#include <vector>

namespace stipple {

// A folder of photos whose cameras are not known yet.
struct PhotoFolder {
  std::filesystem::path path;
  std::vector<std::filesystem::path> names;  // relative to `path`, sorted
};

// Whether the file has one of these extensions, ignoring case. The extensions must be in lower case.
bool has_extension(const std::filesystem::path& path, std::initializer_list<const char*> extensions);

// The JPEGs and PNGs in a folder and its subfolders, except hidden ones. Throws Error if they are too few.
PhotoFolder find_photos(const std::filesystem::path& folder);

enum class CameraSharing { kAll, kFolder, kNone };

// Which photos share a camera, judged by their sizes: all of them, those of a folder, or none.
CameraSharing camera_sharing(const PhotoFolder& photos);

}  // namespace stipple
