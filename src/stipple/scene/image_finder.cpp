// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/image_finder.h"

#include <algorithm>
#include <iterator>

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxIndexedFiles = 1'000'000;  // more would be a whole disk, not a scene
constexpr const char* kMaskFolders[] = {"masks", "mask"};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_image_name(const fs::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

bool is_mask_folder(const fs::path& path) {
  return std::find(std::begin(kMaskFolders), std::end(kMaskFolders), path.filename()) !=
         std::end(kMaskFolders);
}

std::optional<fs::path> only_one(const std::multimap<std::string, fs::path>& index, const std::string& key) {
  const auto [begin, end] = index.equal_range(key);
  if (begin == end || std::next(begin) != end) return {};
  return begin->second;
}

}  // namespace

std::optional<fs::path> contained_path(const std::string& name) {
  std::string text = name;
  std::replace(text.begin(), text.end(), '\\', '/');  // in names written on Windows
  if (text.find('\0') != text.npos) return {};
  const fs::path path = fs::path(text).lexically_normal();
  if (path.empty() || path.is_absolute() || *path.begin() == ".." || !path.has_filename() || path == ".")
    return {};
  return path;
}

bool ImageFinder::has(const fs::path& name) const { return is_file(folder_ / name); }

std::optional<fs::path> ImageFinder::find(const fs::path& name) {
  if (has(name)) return folder_ / name;
  build_index();
  if (auto found = only_one(path_from_file_name_, name.filename().string())) return found;
  return only_one(path_from_stem_, name.stem().string());
}

void ImageFinder::build_index() {
  if (is_indexed_) return;
  is_indexed_ = true;
  std::error_code error;
  // Links to folders are not followed, because they may be cyclic.
  fs::recursive_directory_iterator it(folder_, fs::directory_options::skip_permission_denied, error), end;
  for (std::size_t count = 0; !error && it != end && count < kMaxIndexedFiles; it.increment(error), ++count) {
    if (is_mask_folder(it->path())) it.disable_recursion_pending();  // masks have the names of their photos
    if (!is_image_name(it->path()) || !is_file(it->path())) continue;
    path_from_file_name_.emplace(it->path().filename().string(), it->path());
    path_from_stem_.emplace(it->path().stem().string(), it->path());
  }
}

fs::path find_mask(const fs::path& scene, const fs::path& name) {
  const std::string stem = (name.parent_path() / name.stem()).string();
  for (const char* folder : kMaskFolders)
    for (const std::string& candidate :
         {name.string(), stem + ".png", name.string() + ".png", stem + ".mask.png", stem + ".jpg"})
      if (is_file(scene / folder / candidate)) return scene / folder / candidate;
  return {};
}

}  // namespace stipple
