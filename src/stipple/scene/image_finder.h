// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stipple {

// A name out of a file as a path that stays below the folder it is meant for; none when it would lead
// outside.
std::optional<std::filesystem::path> contained_path(const std::string& name);

// Finds photos in a folder by the names that a scene has for them.
class ImageFinder {
 public:
  explicit ImageFinder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }

  bool has(const std::filesystem::path& name) const;  // exactly there

  // The photo where its name says or, since folders get rearranged and files converted, the only one in the
  // folder and its sub-folders with the same file name, or the same but for its extension.
  std::optional<std::filesystem::path> find(const std::filesystem::path& name);

 private:
  void build_index();

  std::filesystem::path folder_;
  bool is_indexed_ = false;
  std::multimap<std::string, std::filesystem::path> path_from_file_name_, path_from_stem_;
};

// The mask of a photo in one of the scene's mask folders: masks/ or mask/, under the photo's name, with .png
// after it or instead of its extension, or with .mask before that. Empty: none.
std::filesystem::path find_mask(const std::filesystem::path& scene, const std::filesystem::path& name);

}  // namespace stipple
