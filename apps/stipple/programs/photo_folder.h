// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <initializer_list>
#include <vector>

namespace stipple {

// Photos that nobody knows the cameras of yet.
struct PhotoFolder {
  std::filesystem::path path;
  std::vector<std::filesystem::path> names;  // relative to it, sorted
};

// Whether a file's extension is one of these, which are in lower case, in whatever case.
bool has_extension(const std::filesystem::path& path, std::initializer_list<const char*> extensions);

// The JPEGs and PNGs in a folder and its sub-folders, but for hidden ones; an Error when they are too few to
// place.
PhotoFolder find_photos(const std::filesystem::path& folder);

enum class CameraSharing { kAll, kFolder, kNone };

// Which photos can have been taken with one camera, as far as their sizes tell.
CameraSharing camera_sharing(const PhotoFolder& photos);

}  // namespace stipple
