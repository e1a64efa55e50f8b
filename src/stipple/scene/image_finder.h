// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stipple {

// Converts a name from a scene's files to a relative path. Returns none if it would lead outside its folder.
std::optional<std::filesystem::path> contained_path(const std::string& name);

// Finds photos in a folder by their names in the scene.
class ImageFinder {
 public:
  explicit ImageFinder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }

  bool has(const std::filesystem::path& name) const;  // exactly at this path

  // Returns the photo at this path. Since folders get rearranged and files converted, the fallback is the
  // only photo in the folder and its sub-folders with the same file name, or else with the same stem.
  std::optional<std::filesystem::path> find(const std::filesystem::path& name);

 private:
  void build_index();

  std::filesystem::path folder_;
  bool is_indexed_ = false;
  std::multimap<std::string, std::filesystem::path> path_from_file_name_, path_from_stem_;
};

// The mask of a photo, from the scene's masks/ or mask/ folder. For a.jpg it may be named a.jpg, a.png,
// a.jpg.png or a.mask.png. Empty if there is none.
std::filesystem::path find_mask(const std::filesystem::path& scene, const std::filesystem::path& name);

}  // namespace stipple
