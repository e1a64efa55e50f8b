// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/programs/colmap_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "stipple/core/error.h"

namespace stipple {

namespace {

namespace fs = std::filesystem;

std::string sharing_option(CameraSharing sharing) {
  switch (sharing) {
    case CameraSharing::kAll:
      return "--ImageReader.single_camera";
    case CameraSharing::kFolder:
      return "--ImageReader.single_camera_per_folder";
    case CameraSharing::kNone:
      break;
  }
  return "--ImageReader.single_camera_per_image";
}

// COLMAP reads the list line by line, and removes white space around each name.
bool fits_on_a_line(const std::string& name) {
  constexpr const char* kWhiteSpace = " \t\n\v\f\r";
  return name.find('\n') == std::string::npos && name.find_first_of(kWhiteSpace) != 0 &&
         name.find_last_of(kWhiteSpace) != name.size() - 1;
}

std::string printable(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return name;
}

}  // namespace

std::string photo_list(const PhotoFolder& photos) {
  std::string list;
  for (const fs::path& path : photos.names) {
    const std::string name = path.generic_string();
    if (!fits_on_a_line(name))
      throw Error(fmt::format(
          "{}: COLMAP cannot read a photo whose name begins with a space or contains a line break; rename it",
          printable((photos.path / path).string())));
    list += name + '\n';
  }
  return list;
}

ColmapArguments::ColmapArguments(const PhotoFolder& photos, const ColmapOptions& options,
                                 const fs::path& work)
    : photos_(fs::absolute(photos.path)),
      work_(fs::absolute(work)),
      photo_count_(photos.names.size()),
      options_(options) {}

std::string ColmapArguments::matcher() const {
  return options_.is_sequence ? "sequential_matcher" : "exhaustive_matcher";
}

std::vector<std::string> ColmapArguments::extract(const std::string& gpu_option) const {
  return {"feature_extractor",
          "--database_path",
          work_ / "database.db",
          "--image_path",
          photos_,
          "--image_list_path",  // without the list, COLMAP would fail on other files in the folder
          list(),
          "--ImageReader.camera_model",
          options_.camera_model,
          sharing_option(options_.sharing),
          "1",
          gpu_option,
          options_.use_gpu ? "1" : "0"};
}

std::vector<std::string> ColmapArguments::match(const std::string& gpu_option) const {
  std::vector<std::string> arguments = {matcher(), "--database_path", work_ / "database.db", gpu_option,
                                        options_.use_gpu ? "1" : "0"};
  if (!options_.is_sequence) {
    // With the default of 50 photos per block, small sets would show no progress. Blocks of fewer than 10
    // photos would not keep all cores busy.
    const std::size_t size = std::clamp<std::size_t>(photo_count_ / 5, 10, 50);
    arguments.insert(arguments.end(), {"--ExhaustiveMatching.block_size", std::to_string(size)});
  }
  return arguments;
}

std::vector<std::string> ColmapArguments::map() const {
  return {"mapper",        "--database_path", work_ / "database.db", "--image_path", photos_,
          "--output_path", models()};
}

std::vector<std::string> ColmapArguments::undistort(const fs::path& model) const {
  return {"image_undistorter", "--image_path", photos_,         "--input_path", fs::absolute(model),
          "--output_path",     undistorted(),  "--output_type", "COLMAP"};
}

}  // namespace stipple
