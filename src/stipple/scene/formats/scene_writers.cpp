// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/scene/formats/files_with_extension.h"
#include "stipple/scene/formats/save_scene.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

template <ColmapFormat format, class AnyPoints>
void save_colmap_scene(PosedImages images, const AnyPoints& points, const fs::path& folder) {
  std::error_code error;
  const fs::path model = folder / "sparse" / "0";
  fs::create_directories(model, error);
  if (error) throw Error(fmt::format("cannot create the folder {}: {}", model.string(), error.message()));
  save_colmap(images, points, format, model);
}

constexpr ColmapFormat kBinary = ColmapFormat::kBinary, kText = ColmapFormat::kText;

constexpr SceneWriter kWriters[] = {
    {"colmap", "images", "sparse/0/images.bin", false, false, save_colmap_scene<kBinary, Points>,
     save_colmap_scene<kBinary, PointStream>},
    {"colmap-text", "images", "sparse/0/images.txt", false, false, save_colmap_scene<kText, Points>,
     save_colmap_scene<kText, PointStream>},
    {"transforms", "images", "transforms.json", true, true, save_transforms},
    {"opensfm", "images", "reconstruction.json", true, false, save_opensfm},
    {"openmvg", "images", "sfm_data.json", true, false, save_openmvg},
    {"polycam", "keyframes/corrected_images", "keyframes/corrected_cameras", false, false, save_polycam},
    {"metashape", "images", "cameras.xml", true, false, save_metashape},
    {"realitycapture", "images", "cameras.csv", false, false, save_realitycapture},
};

}  // namespace

std::span<const SceneWriter> scene_writers() { return kWriters; }

const SceneWriter& scene_writer(std::string_view name) {
  const SceneWriter* found = std::ranges::find(kWriters, name, &SceneWriter::name);
  if (found == std::end(kWriters)) throw Error(fmt::format("there is no format of scenes named '{}'", name));
  return *found;
}

void remove_cameras(const SceneWriter& writer, const fs::path& folder) {
  const fs::path main = folder / writer.main_file;
  std::vector<fs::path> files = {main};
  std::error_code error;
  if (fs::is_directory(main, error)) files = files_with_extension(main, ".json");
  if (writer.name == "colmap") files.push_back(folder / "sparse/0/images.txt");  // is read instead
  for (const fs::path& file : files)
    if (fs::remove(file, error); error)
      throw Error(fmt::format("cannot remove {}: {}", file.string(), error.message()));
}

fs::path scene_read_instead(std::string_view format, const fs::path& folder) {
  std::error_code ignored;
  for (const SceneWriter& writer : kWriters) {
    if (writer.name == format) break;
    if (fs::exists(folder / writer.main_file, ignored)) return folder / writer.main_file;
  }
  return {};
}

}  // namespace stipple
