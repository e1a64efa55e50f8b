// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <iterator>

#include "stipple/core/error.h"
#include "stipple/scene/formats/save_scene.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

template <ColmapFormat format>
void save_colmap_scene(PosedImages images, const Points& points, const fs::path& folder) {
  std::error_code error;
  const fs::path model = folder / "sparse" / "0";
  fs::create_directories(model, error);
  if (error) throw Error(fmt::format("cannot create the folder {}: {}", model.string(), error.message()));
  save_colmap(images, points, format, model);
}

constexpr SceneWriter kWriters[] = {
    {"colmap", "images", "sparse/0/images.bin", save_colmap_scene<ColmapFormat::kBinary>},
    {"colmap-text", "images", "sparse/0/images.txt", save_colmap_scene<ColmapFormat::kText>},
    {"transforms", "images", "transforms.json", save_transforms},
    {"opensfm", "images", "reconstruction.json", save_opensfm},
    {"openmvg", "images", "sfm_data.json", save_openmvg},
    {"polycam", "keyframes/corrected_images", "keyframes/corrected_cameras", save_polycam},
    {"metashape", "images", "cameras.xml", save_metashape},
    {"realitycapture", "images", "cameras.csv", save_realitycapture},
};

}  // namespace

std::span<const SceneWriter> scene_writers() { return kWriters; }

const SceneWriter& scene_writer(std::string_view name) {
  const SceneWriter* found = std::ranges::find(kWriters, name, &SceneWriter::name);
  assert(found != std::end(kWriters));
  return *found;
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
