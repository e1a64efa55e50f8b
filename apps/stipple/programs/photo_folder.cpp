// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/photo_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "apps/stipple/files/has_extension.h"
#include "stipple/core/error.h"
#include "stipple/io/image/image_file.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMinPhotoCount = 3;

bool is_photo(const fs::directory_entry& entry) {
  // Hidden files such as ._1.jpg, which macOS writes, are not photos.
  const bool is_hidden = entry.path().filename().string().starts_with('.');
  return !is_hidden && has_extension(entry.path(), {".jpg", ".jpeg", ".png"}) && entry.is_regular_file();
}

std::vector<fs::path> names_in(const fs::path& folder) try {
  std::vector<fs::path> names;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (is_photo(entry)) names.push_back(entry.path().lexically_relative(folder));
  std::sort(names.begin(), names.end());
  return names;
} catch (const fs::filesystem_error& error) {
  throw Error(fmt::format("cannot read {}: {}", folder.string(), error.code().message()));
}

}  // namespace

PhotoFolder find_photos(const fs::path& folder) {
  PhotoFolder photos{folder, names_in(folder)};
  if (photos.names.empty())
    throw Error(fmt::format(
        "{}: there are no photos (.jpg, .jpeg, .png) in this folder; convert photos of other types first",
        folder.string()));
  if (photos.names.size() < kMinPhotoCount)
    throw Error(
        fmt::format("{}: at least {} photos are needed, but this folder has only {}; a few dozen work well",
                    folder.string(), kMinPhotoCount, photos.names.size()));
  return photos;
}

CameraSharing camera_sharing(const PhotoFolder& photos) {
  using Size = std::pair<int, int>;
  std::set<Size> sizes;
  std::map<fs::path, std::set<Size>> sizes_from_folder;
  for (const fs::path& name : photos.names) {
    const ImageInfo info = load_image_info(photos.path / name);
    sizes.emplace(info.width_px, info.height_px);
    sizes_from_folder[name.parent_path()].emplace(info.width_px, info.height_px);
  }
  const auto is_uniform = [](const auto& folder) { return folder.second.size() == 1; };
  if (sizes.size() == 1) return CameraSharing::kAll;
  return std::all_of(sizes_from_folder.begin(), sizes_from_folder.end(), is_uniform) ? CameraSharing::kFolder
                                                                                     : CameraSharing::kNone;
}

}  // namespace stipple
